# cmake -DOUTPUT=FILE.cc -DINPUT=crds.yaml -P embed.cmake: the text as a C++ file.
file(READ ${INPUT} text)
set(code "#include \"embedded/federation/definitions.h\"\n\nnamespace evenkeel::embedded::federation {\n\n")
string(APPEND code "std::string_view DefinitionsYaml() {\n  return R\"crds(${text})crds\";\n}\n\n")
string(APPEND code "}  // namespace evenkeel::embedded::federation\n")
file(WRITE ${OUTPUT} "${code}")
