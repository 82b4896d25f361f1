# Turns the files of the report page into a C++ source, when the project is built.
#   cmake -DOUT=FILE.cpp -DHTML=page.html -DSTYLE=page.css -DSCRIPTS=a.js|b.js -P EmbedPage.cmake
# The page's policy allows the script and the style of these very bytes.
file(READ ${HTML} html)
file(READ ${STYLE} style)
set(script "'use strict';\n")
string(REPLACE "|" ";" scripts "${SCRIPTS}")
foreach(file IN LISTS scripts)
  file(READ ${file} text)
  string(APPEND script "${text}")
endforeach()
foreach(name html style script)
  string(SHA256 ${name}_hash "${${name}}")
  # Compilers limit the length of a literal, so it is made of pieces.
  string(LENGTH "${${name}}" length)
  set(${name}_literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${${name}}" ${at} 12000 piece)
    string(APPEND ${name}_literal "R\"~page~(${piece})~page~\"\n")
    math(EXPR at "${at} + 12000")
  endwhile()
endforeach()
file(
  WRITE ${OUT}
  "// Made by cmake/EmbedPage.cmake.
#include \"kinflow/pages/page_files.h\"

namespace kinflow {

const std::string_view kPageHtml = ${html_literal};
const std::string_view kPageStyle = ${style_literal};
const std::string_view kPageScript = ${script_literal};
const std::string_view kPageStyleSha256 = \"${style_hash}\";
const std::string_view kPageScriptSha256 = \"${script_hash}\";

}  // namespace kinflow
")
