"""The command line: a thin layer over the library that decides nothing about privacy by itself."""
