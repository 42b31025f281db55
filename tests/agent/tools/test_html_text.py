"""Pages as text."""

from handrail.agent.tools.html_text import text_of_html


def test_headings_lists_links_and_code_look_like_markdown():
    html = """<html><head><title>Page</title><style>b{}</style></head><body><h2>Part</h2><p>One
      <a href="https://x.example/">link</a></p><ul><li>a<li>b</ul><pre>  x
  y</pre><script>no</script></body>"""
    assert text_of_html(html) == ("# Page\n\n## Part\n\nOne [link](https://x.example/)\n\n- a\n- b\n\n```\nx\ny\n```")


def test_what_is_not_seen_is_left_out_even_where_it_is_nested_or_unclosed():
    assert text_of_html("a<svg><svg>x</svg>y</svg>b<script>c") == "ab"


def test_signs_are_what_they_stand_for():
    assert text_of_html("a &amp; b &lt;c&gt;") == "a & b <c>"
