#include "cli/terminal/get_output.h"

#include <gtest/gtest.h>

#include <sstream>

namespace evenkeel::cli::get_output_test {
namespace {

using Names = std::vector<std::string>;

Shown Groups() {
  Shown shown;
  shown.kind = "nodegroup";
  shown.items = "groups";
  shown.header = {"GROUP", "NODES", "WHY"};
  shown.wide = 1;
  shown.passing = {1, 2};
  shown.names = {"west/general", "east/general", "east/arm"};
  shown.rows = {{"west/general", "3", "w"}, {"east/general", "1", "e"}, {"east/arm", "2", "a"}};
  base::JsonArray items;
  for (const auto& row : shown.rows)
    items.push_back(base::JsonObject{{"group", row[0]}, {"labels", base::JsonArray{row[1], row[2]}}});
  shown.json = base::JsonObject{{"groups", std::move(items)}, {"all", 3}};
  return shown;
}

std::string Printed(const std::string& form, const Names& wanted = {}) {
  const auto output = GetOutput::Parse(form);
  if (!output) return output.error().message();
  const auto arranged = output->Arrange(Groups(), wanted, true);
  if (!arranged) return arranged.error().message();
  std::ostringstream out;
  const base::Status printed = output->Print(out, *arranged);
  return printed ? out.str() : printed.error().message();
}

TEST(GetOutputTest, RowsAreInOrderOfTheirNames) {
  EXPECT_EQ(Printed("table"),
            "GROUP          NODES\n"
            "east/arm       2\n"
            "east/general   1\n"
            "west/general   3\n");
  EXPECT_EQ(Printed("wide", {"east/arm"}),
            "GROUP      NODES   WHY\n"
            "east/arm   2       a\n");
}

TEST(GetOutputTest, ANameIsGivenWholeOrByItsLastPartOrBehindItsKind) {
  EXPECT_EQ(Printed("name", {"east/arm"}), "nodegroup/east/arm\n");
  EXPECT_EQ(Printed("name", {"general"}), "nodegroup/east/general\nnodegroup/west/general\n");
  EXPECT_EQ(Printed("name", {"nodegroup/west/general", "arm"}), "nodegroup/east/arm\nnodegroup/west/general\n");
  EXPECT_EQ(Printed("name", {"neral"}), "there is no nodegroup neral: there are east/arm, east/general, west/general");
  EXPECT_EQ(Printed("name", {"east/genral"}), "there is no nodegroup east/genral; did you mean east/general?");
  EXPECT_TRUE(GetOutput::Parse("table")->Arrange(Groups(), {"north"}, false)->rows.empty());
}

TEST(GetOutputTest, ProgramsGetTheSameItemsInTheSameOrder) {
  EXPECT_EQ(base::ToText(*base::ParseJson(Printed("json", {"general"}), "test")),
            R"({"groups":[{"group":"east/general","labels":["1","e"]},{"group":"west/general","labels":["3","w"]}],"all":3})");
  EXPECT_TRUE(Printed("yaml", {"arm"}).contains("groups:\n"));
  EXPECT_EQ(Printed("jsonpath={.groups[*].group}"), "east/arm east/general west/general\n");
  EXPECT_EQ(Printed(R"(jsonpath={range .groups[*]}{.group}{"\n"}{end})", {"arm"}), "east/arm\n");
}

TEST(GetOutputTest, ColumnsAreChosenByPath) {
  EXPECT_EQ(Printed("custom-columns=NAME:.group,L:{.labels[*]},NONE:nothing", {"east/general"}),
            "NAME           L     NONE\n"
            "east/general   1,e   <none>\n");
}

TEST(GetOutputTest, WhatIsNoFormIsRefusedWithTheReason) {
  for (const char* form : {"jsn", "jsonpath", "jsonpath={.a", "custom-columns=", "custom-columns=NAME", "custom-columns=:.a",
                           "custom-columns=A:.a,", "custom-columns=A:"}) {
    const auto output = GetOutput::Parse(form);
    ASSERT_FALSE(output) << form;
    EXPECT_EQ(output.error().code(), base::Code::kBadRequest) << form;
    EXPECT_TRUE(output.error().message().contains(form)) << output.error().message();
  }
  EXPECT_TRUE(Printed("custom-columns=A:.labels[7]").contains("column A: "));
}

}  // namespace
}  // namespace evenkeel::cli::get_output_test
