"""The demo's first two works as files, to try `aex lint` and `aex verify` on; kept equal to the demo by a test.

`summary/`: criteria, work, the first draft, its revision, and what the agent reports of them.
`digits/`: the same for 150 handwritten digits (UCI, 1998, as scikit-learn brings them along) and a reader's labels.
"""
