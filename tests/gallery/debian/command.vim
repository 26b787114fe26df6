command <Foo>
