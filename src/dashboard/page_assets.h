// The web page as it was built from page/: the files of the dashboard, and the report, which is one file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace evenkeel::dashboard {

struct PageAsset {
  /// As in a request: "/index.html", "/assets/index-3f2a.js". All under /assets carry a hash of their content in their name.
  std::string_view path;
  std::string_view content_type;
  std::string_view content;
};

/// In the order of their paths. They live as long as the program.
std::span<const PageAsset> PageAssets();

/// The report without its data: scripts and styles are inside, and it asks for nothing from anywhere.
std::string_view ReportTemplate();

/// The report with its data, which page/src/report/data.ts describes. Whatever texts the data has, they stay data.
std::string ReportPage(const base::Json& data);

}  // namespace evenkeel::dashboard
