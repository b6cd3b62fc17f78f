#include "dashboard/page_assets.h"

#include "base/result.h"

namespace evenkeel::dashboard {
namespace {

constexpr std::string_view kMarker = "<!--EVENKEEL_REPORT_DATA-->";

}  // namespace

std::string ReportPage(const base::Json& data) {
  std::string_view page = ReportTemplate();
  size_t at = page.find(kMarker);
  EVENKEEL_CHECK(at != page.npos);
  std::string text = base::ToText(data);
  std::string out;
  out.reserve(page.size() + text.size() + text.size() / 64);
  out.append(page.substr(0, at)).append(R"(<script type="application/json" id="report-data">)");
  // HTML ends a script at the first "</script", wherever it stands; JSON has another way to write "<".
  for (char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out.append("</script>").append(page.substr(at + kMarker.size()));
  return out;
}

}  // namespace evenkeel::dashboard
