"""Panels: the playground's trained nets, and lanes that train in the page; by torch beside a kernel, by onnxruntime-web
in a page without one.

Here lives what the two share: `js/engine.js`, engines that answer elsewhere, and `js/runtime.js`, which runs in
their workers. The first page has a writer too, which the book's build makes.
"""
