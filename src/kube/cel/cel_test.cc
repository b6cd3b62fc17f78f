#include "kube/cel/cel.h"

#include <gtest/gtest.h>

#include "kube/cel/authorizer.h"
#include "kube/cel/shape.h"

namespace evenkeel::kube::cel::cel_test {
namespace {

std::shared_ptr<const Environment> Usual() {
  auto environment = std::make_shared<Environment>(Library::Kubernetes());
  environment->Declare("text", &types::kString);
  environment->Declare("numbers", "list(int)");
  environment->Declare("labels", "map(string, string)");
  environment->Declare("anything", &types::kDyn);
  return environment;
}

struct World {
  Arena arena;
  std::shared_ptr<const Environment> environment = Usual();

  std::string Problem(const std::string& expression) {
    const auto program = Program::Compile(expression, environment);
    return program ? "" : program.error().message();
  }
  Evaluation Run(const std::string& expression, uint64_t cost_max = kCallCostMax) {
    const auto program = Program::Compile(expression, environment);
    if (!program) return {.value = MakeError(arena, program.error().message()), .cost = 0, .over = false};
    static const base::Json kLabels = {{"app", "web"}, {"tier", "front"}};
    static const base::Json kNumbers = {3, 1, 2};
    Activation activation(*environment);
    activation.Set(0, Value::String("a text"));
    activation.Set(1, FromJson(kNumbers, nullptr, arena));
    activation.Set(2, FromJson(kLabels, nullptr, arena));
    activation.Set(3, FromJson(kLabels, nullptr, arena));
    return (*program)->Evaluate(activation, arena, cost_max);
  }
};

TEST(CelTest, WhatIsTrueIsTrue) {
  World world;
  for (const char* const expression :
       {"1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "7 % 3 == 1",
        "-7 / 2 == -3",
        "- -1 == 1",
        "!!true",
        "2 - 1 - 1 == 0",
        "true ? 1 == 1 : 1 / 0 == 1",
        "false ? 1 / 0 == 1 : true",
        "true || false && false",
        "1 < 2 == true",
        "0x10 == 16",
        "0x1Fu == 31u",
        "1e3 == 1000.0",
        ".5 == 0.5",
        "'a' + \"b\" == 'ab'",
        "r'\\n' == '\\\\n'",
        "b'abc' == bytes('abc')",
        "'''a'b''' == \"a'b\"",
        "'\\u00e9' == 'é'",
        "'\\x41\\101' == 'AA'",
        "size('é') == 1 && size(bytes('é')) == 2",
        "[1, 2] + [3] == [1, 2, 3]",
        "3 in [1, 2, 3]",
        "!('x' in {'y': 1})",
        "{'a': 1}.a == 1 && {'a': 1}['a'] == 1",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
        "numbers.all(n, n > 0)",
        "numbers.exists(n, n == 2) && !numbers.exists(n, n == 5)",
        "numbers.exists_one(n, n > 2)",
        "numbers.map(n, n * 2) == [6, 2, 4]",
        "numbers.map(n, n > 1, n * 2) == [6, 4]",
        "numbers.filter(n, n < 3) == [1, 2]",
        "labels.exists(k, k == 'app')",
        "labels.all(k, v, size(k) > 0 && size(v) > 0)",
        "numbers.map(n, numbers.filter(m, m < n).size()) == [2, 0, 1]",
        "numbers.sort() == [1, 2, 3]",
        "numbers.sortBy(n, -n) == [3, 2, 1]",
        "labels.transformMap(k, v, v + '!')['app'] == 'web!'",
        "[1, 2].transformList(i, v, i + v) == [1, 3]",
        "labels.?app.orValue('x') == 'web'",
        "labels.?none.orValue('x') == 'x'",
        "labels[?'app'].hasValue()",
        "labels.?app.optMap(v, v + '1').value() == 'web1'",
        "optional.none().or(optional.of(1)).value() == 1",
        "optional.of(1).orValue(1 / 0) == 1",
        "[?labels.?none, 'x'] == ['x']",
        "{?'k': labels.?app} == {'k': 'web'}",
        "timestamp('2024-02-29T12:00:00Z').getDate() == 29",
        "timestamp('2024-01-01T00:00:00Z') + duration('24h') == timestamp('2024-01-02T00:00:00Z')",
        "timestamp('2024-07-01T00:00:00Z').getHours('Europe/Berlin') == 2",
        "duration('90m') > duration('1h')",
        "string(duration('90s')) == '90s'",
        "string(timestamp('2024-01-01T00:00:00.500Z')) == '2024-01-01T00:00:00.5Z'",
        "int('42') == 42 && double('1.5') == 1.5 && uint(7) == 7u",
        "string(1.0) == '1' && string(0.1) == '0.1'",
        "type(1) == int && type('') == string && type([]) == list && type(null) == null_type",
        "dyn(1) == 1.0 && dyn(1u) == 1",
        "1 < 2.5 && 2u > 1 && 1.5 <= 2",
        "'a' < 'b' && b'a' < b'b' && false < true",
        "'abc'.matches('^a.c$')",
        "'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "'abc'.findAll('x*') == ['', '', '', '']",
        "'a b'.split(' ') == ['a', 'b']",
        "'Hello'.lowerAscii() == 'hello' && 'é'.upperAscii() == 'é'",
        "'abcabc'.replace('b', 'x', 1) == 'axcabc'",
        "'%s is %d'.format(['x', 3]) == 'x is 3'",
        "' x '.trim() == 'x'",
        "'abc'.substring(1, 2) == 'b'",
        "quantity('1Gi').isGreaterThan(quantity('1G'))",
        "quantity('100m').add(quantity('900m')) == quantity('1')",
        "semver('1.10.0').isGreaterThan(semver('1.9.0'))",
        "isSemver('v1.2', true) && !isSemver('v1.2')",
        "ip('10.0.0.1') == ip('10.0.0.1') && ip('::1').isLoopback()",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "string(ip('2001:db8:0:0:1::1')) == '2001:db8::1:0:0:1'",
        "string(ip('1:0:0:2:0:0:0:3')) == '1:0:0:2::3'",
        "url('https://[::1]:8080/a?b=c').getPort() == '8080'",
        "!isURL('a b') && isURL('/a b')",
        "format.dns1123Label().validate('a').hasValue() == false",
        "sets.contains([1, 2, 3], [2])",
        "[1, 1, 2].distinct() == [1, 2]",
        "lists.range(3) == [0, 1, 2]",
        "[[1], [2, 3]].flatten() == [1, 2, 3]",
        "[1, 2, 3].slice(1, 2) == [2]",
        "[3, 1].min() == 1 && [3, 1].max() == 3 && [3, 1].sum() == 4",
        "1 / 0 == 1 || true",
        "!(1 / 0 == 1 && false)",
        "[1, 0].exists(n, 2 / n == 2)",
        "![0, 1].all(n, 2 / n == 1)",
        "anything.app == 'web' && anything.app != 1",
        "{1: 'a', 2: 'b'}[dyn(1.0)] == 'a'",
        "'a' in ['a'] ? true : false",
        "// a comment\ntrue",
        "string(b'abc') == 'abc'",
        "9223372036854775807 == 9223372036854775807 && -9223372036854775808 < 0",
        "double('NaN') != double('NaN')"}) {
    const Evaluation evaluation = world.Run(expression);
    EXPECT_TRUE(evaluation.value.IsTrue()) << expression << ": "
                                           << (evaluation.value.IsError() ? evaluation.value.text() : "false");
  }
}

struct Failing {
  const char* expression;
  const char* message;
};

TEST(CelTest, WhatDoesNotCompileSaysWhere) {
  World world;
  for (const auto& [expression, message] :
       {Failing{"text ==", "<input>:1:8: Syntax error: mismatched input '<EOF>'"},
        Failing{"1 +\n  nope", "<input>:2:3: undeclared reference to 'nope' (in container '')"},
        Failing{"text + 1", "<input>:1:6: found no matching overload for '_+_' applied to '(string, int)'"},
        Failing{"text.nope()", "undeclared reference to 'nope'"},
        Failing{"text.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"},
        Failing{"1 && true", "found no matching overload for '_&&_' applied to '(int, bool)'"},
        Failing{"true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"},
        Failing{"[1, 'a']", "expected type 'int' but found 'string'"},
        Failing{"1.all(x, true)", "cannot be range of a comprehension"},
        Failing{"numbers.all(1, true)", "argument must be a simple name"},
        Failing{"has(text)", "invalid argument to has() macro"},
        Failing{"text.foo", "type 'string' does not support field selection"}, Failing{"'abc", "token recognition error"},
        Failing{"99999999999999999999", "invalid int literal"},
        Failing{"a.b.Message{x: 1}", "undeclared reference to 'a.b.Message'"}, Failing{"for", "reserved identifier: for"},
        Failing{"'a'.matches('(')", "invalid matches argument"},
        Failing{"cel.bind(x, 1, x)", "undeclared reference to 'cel'"}}) {
    EXPECT_NE(world.Problem(expression).find(message), std::string::npos) << expression << ": " << world.Problem(expression);
  }
  EXPECT_NE(world.Problem("text + 1").find("\n | text + 1\n | .....^"), std::string::npos);
}

TEST(CelTest, WhatFailsSaysWhy) {
  World world;
  for (const auto& [expression, message] :
       {Failing{"9223372036854775807 + 1 == 0", "integer overflow"}, Failing{"1u - 2u == 0u", "unsigned integer overflow"},
        Failing{"labels['none'] == ''", "no such key: none"}, Failing{"numbers[3] == 0", "index out of bounds: 3"},
        Failing{"anything.app > 1", "no such overload"}, Failing{"optional.none().value() == 1", "optional.none() dereference"},
        Failing{"timestamp(text) == timestamp(0)", "invalid timestamp"},
        Failing{"quantity(text).isInteger()", "quantities must match"},
        Failing{"labels.transformMapEntry(k, v, {'same': v}).size() == 2", "repeated key: same"},
        Failing{"text.matches(text + '(')", "missing closing )"}}) {
    const Evaluation evaluation = world.Run(expression);
    ASSERT_TRUE(evaluation.value.IsError()) << expression;
    EXPECT_NE(evaluation.value.text().find(message), std::string_view::npos) << expression << ": " << evaluation.value.text();
  }
}

TEST(CelTest, CostIsWhatKubernetesCounts) {
  World world;
  EXPECT_EQ(world.Run("true").cost, 0U);
  EXPECT_EQ(world.Run("text == 'a text'").cost, 2U) << "the name, and a tenth of six letters";
  EXPECT_EQ(world.Run("anything.app == 'web'").cost, 3U);
  EXPECT_EQ(world.Run("[1, 2] == [1]").cost, 21U);
  EXPECT_EQ(world.Run("1 in numbers").cost, 4U);
  EXPECT_EQ(world.Run("text.matches('a.*')").cost, 2U);
  EXPECT_EQ(world.Run("has(labels.app)").cost, 1U);
}

TEST(CelTest, WhatCostsTooMuchIsEnded) {
  World world;
  const std::string nested = "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))";
  const Evaluation evaluation = world.Run(nested);
  EXPECT_TRUE(evaluation.over);
  EXPECT_EQ(evaluation.value.text(), kCostExceeded);
  EXPECT_TRUE(world.Run("(" + nested + ") || true").over) << "what has no money left decides nothing";
  EXPECT_TRUE(world.Run("lists.range(100000).distinct().size() > 0").over) << "paid for before it is done";
}

TEST(CelTest, MemoryIsBounded) {
  World world;
  std::string doubled = "'0123456789'";
  for (int i = 0; i < 40; ++i) doubled = fmt::format("[{}].map(t, t + t)[0]", doubled);
  const Evaluation evaluation = world.Run(doubled + " == ''", UINT64_MAX);
  ASSERT_TRUE(evaluation.value.IsError());
  EXPECT_NE(evaluation.value.text().find("too long"), std::string_view::npos) << evaluation.value.text();
}

TEST(CelTest, DepthAndLengthAreBounded) {
  World world;
  EXPECT_NE(world.Problem(std::string(100'000, '(')).find("recursion limit"), std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 1'000; ++i) sum += " + 1";
  EXPECT_NE(world.Problem(sum).find("recursion limit"), std::string::npos);
  EXPECT_NE(world.Problem(std::string(200'000, ' ') + "true").find("code point size exceeds limit"), std::string::npos);
  std::string alternatives = "false";
  for (int i = 0; i < 5'000; ++i) alternatives += " || false";
  EXPECT_EQ(world.Problem(alternatives), "") << "however many, they are one node";
}

TEST(CelTest, ProgramsKnowWhichVariablesTheyName) {
  const auto environment = Usual();
  const auto program = Program::Compile("numbers.all(text, text > 0) && labels.app == 'x'", environment);
  ASSERT_TRUE(program.has_value());
  EXPECT_FALSE((*program)->Mentions(0)) << "a macro's variable of the same name";
  EXPECT_TRUE((*program)->Mentions(1));
  EXPECT_TRUE((*program)->Mentions(2));
}

TEST(CelTest, AuthorizersAreAsked) {
  struct Rules final : AccessRules {
    Answer Ask(const AccessQuestion& question, std::string_view verb) const override {
      if (!question.path.empty()) return {question.path == "/healthz" && verb == "get", ""};
      return {question.group == "apps" && question.resource == "deployments" && question.namespace_name == "a" &&
                  question.account_name == "bot" && verb == "create",
              "because"};
    }
  } rules;
  auto environment = std::make_shared<Environment>(Library::Admission());
  environment->Declare("authorizer", "kubernetes.authorization.Authorizer");
  Arena arena;
  Activation activation(*environment);
  activation.Set(0, MakeAuthorizer(rules, arena));
  for (const char* const expression :
       {"authorizer.path('/healthz').check('get').allowed()", "!authorizer.path('/other').check('get').allowed()",
        "authorizer.serviceAccount('ns', 'bot').group('apps').resource('deployments').namespace('a').check('create').reason() "
        "== "
        "'because'"}) {
    const auto program = Program::Compile(expression, environment);
    ASSERT_TRUE(program.has_value()) << program.error().message();
    EXPECT_TRUE((*program)->Evaluate(activation, arena).value.IsTrue()) << expression;
  }
  const auto thrice = Program::Compile("[1, 2, 3].all(n, authorizer.path('/healthz').check('get').allowed())", environment);
  EXPECT_TRUE((*thrice)->Evaluate(activation, arena).over) << "two checks are what an expression can pay";
}

}  // namespace
}  // namespace evenkeel::kube::cel::cel_test
