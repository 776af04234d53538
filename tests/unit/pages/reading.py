"""What a reader of a page sees."""

import re
import sys
from unittest import mock

from sfumato.pages import render


def words(page):
    """No tags, no style sheet, no pictures, white space collapsed."""
    body = re.sub(r"<(style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", "", re.sub(r"</t[hdr]>", " ", body)).replace("&nbsp;", " ").replace("\xa0", " ")
    return re.sub(r"\s+", " ", text)


def words_of(release, **settings):
    """The words of a release's page, whose pictures are not drawn: that takes nearly all of a page's time."""
    with mock.patch.object(sys.modules["sfumato.pages.pictures"], "svg_of", return_value="<svg></svg>"):
        return words(render(release, **settings))
