"""The plain page, as files: the router serves what lies here, each by its name.

No script or style stands in the page itself, so that the browser can be told to run none that does.
"""
