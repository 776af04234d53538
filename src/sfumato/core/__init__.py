"""The trusted core: everything that privacy rests on, in numpy and the standard library.

Read it in this order: ``box``, ``neighbours``, ``privacy``, ``certificate`` (the words), ``gaussian``,
``calibration``, ``objective`` (how much noise), ``quantize``, ``sampling`` (exact noise), and last ``mechanism`` and
``selection``, the only doors through which private numbers become public ones.
"""
