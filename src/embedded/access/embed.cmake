# cmake -DOUTPUT=FILE.cc -DINPUT=default_policy.text -P embed.cmake: the text as a C++ file.
file(READ ${INPUT} text)
set(code "#include \"embedded/access/default_policy_text.h\"\n\nnamespace evenkeel::embedded::access {\n\n")
string(APPEND code "const char* const kDefaultPolicyText = R\"policy(${text})policy\";\n\n}  // namespace evenkeel::embedded::access\n")
file(WRITE ${OUTPUT} "${code}")
