#include "scripts/python_source.h"

#include <limits>

#include <doctest/doctest.h>

namespace fuseproof {

// Expected texts follow Python's language reference, and black's layout of brackets.

TEST_CASE("numbers keep their type and their value") {
  CHECK(python_literal(Number{std::int64_t{-3}}) == "-3");
  CHECK(python_literal(1.0) == "1.0");
  CHECK(python_literal(-0.0) == "-0.0");
  CHECK(python_literal(0.1) == "0.1");
  CHECK(python_literal(1e300) == "1e+300");
  CHECK(python_literal(5e-324) == "5e-324");
  CHECK(python_literal(std::numeric_limits<double>::infinity()) == "float(\"inf\")");
  CHECK(python_literal(-std::numeric_limits<double>::infinity()) == "float(\"-inf\")");
  CHECK(python_literal(std::numeric_limits<double>::quiet_NaN()) == "float(\"nan\")");
}

TEST_CASE("a string is one line, whatever it holds") {
  CHECK(python_literal("plain") == R"("plain")");
  CHECK(python_literal(R"(a "b" \ c)") == R"("a \"b\" \\ c")");
  CHECK(python_literal("a\n\t\r") == R"("a\n\t\r")");
  CHECK(python_literal(std::string_view("\0\x1b\x7f", 3)) == R"("\x00\x1b\x7f")");
  CHECK(python_literal("gr\xc3\xbc\xc3\x9f") == "\"gr\xc3\xbc\xc3\x9f\"");
  CHECK(python_literal("\xff") == "\"\xef\xbf\xbd\"");
}

TEST_CASE("a text of several lines is raw where Python can read it back") {
  CHECK(python_text_block("a\\n\n\"b\" ") == "r\"\"\"a\\n\n\"b\" \"\"\"");
  // A raw string can hold neither its own end nor a backslash before it.
  CHECK(python_text_block("a\"\"\"\nb") == "\"\"\"a\\\"\\\"\\\"\nb\"\"\"");
  CHECK(python_text_block("a\nb\\") == "\"\"\"a\nb\\\\\"\"\"");
  CHECK(python_text_block("a\nb\"") == "\"\"\"a\nb\\\"\"\"\"");
  CHECK(python_text_block("a\r\n") == "\"\"\"a\\r\n\"\"\"");
}

TEST_CASE("a docstring is not ended by what stands in it") {
  CHECK(docstring_text(R"(a "b" \d)") == R"(a "b" \\d)");
  CHECK(docstring_text(R"(""""")") == R"(""\""\")");
  CHECK(docstring_text("two\nlines") == "two lines");
}

TEST_CASE("a tuple of one keeps its comma") {
  CHECK(python_statement(0, "", python_tuple({})) == "()");
  CHECK(python_statement(0, "", python_tuple({"1"})) == "(1,)");
  CHECK(python_statement(0, "", python_tuple({"1", "2"})) == "(1, 2)");
}

TEST_CASE("JSON values are Python's") {
  const Json value = {{"list", {nullptr, true, false, 3, 2.0, "x"}}, {"none", Json::object()}};
  CHECK(python_statement(0, "a = ", python_expression(value)) ==
        R"(a = {"list": [None, True, False, 3, 2.0, "x"], "none": {}})");
  CHECK(python_statement(0, "a = ", python_expression(Json{{"text", "a\nb"}})) ==
        "a = {\n    \"text\": r\"\"\"a\nb\"\"\",\n}");
}

TEST_CASE("what does not fit into a line is broken: elements together, or one a line") {
  const std::string wide(45, 'x');
  const PythonExpression call = python_group("f(", {python_leaf(wide), python_leaf(wide)}, ")");
  CHECK(python_statement(4, "a = ", call) == "a = f(\n        " + wide + ", " + wide + "\n    )");
  const PythonExpression longer =
      python_group("f(", {python_leaf(wide), python_leaf(wide), python_leaf("y")}, ")");
  CHECK(python_statement(4, "a = ", longer) ==
        "a = f(\n        " + wide + ",\n        " + wide + ",\n        y,\n    )");
  // A column less is a line.
  const PythonExpression just = python_group("f(", {python_leaf(wide), python_leaf(wide)}, ")");
  CHECK(python_statement(kPythonColumns - 95, "", just) == "f(" + wide + ", " + wide + ")");
  CHECK(python_statement(kPythonColumns - 94, "", just) != "f(" + wide + ", " + wide + ")");
}

}  // namespace fuseproof
