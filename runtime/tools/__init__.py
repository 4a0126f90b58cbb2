"""Types to schemas, schemas to validation, and from there to tools and catalogs.

A handler's annotations become shapes (`shape`, `converters`, `records`), its
shapes a plan (`compile`, `plan`), and plan and description a `Tool`, which a
host invokes itself or hands over in a `Catalog` to be called (`call`).
"""
