#include "controllers/distribution/sharding/findings.h"

#include "base/log.h"

namespace evenkeel::controllers::distribution {

void FindingReporter::Report(const std::vector<Finding>& findings, bool tells) {
  std::set<std::string> holding;
  for (const Finding& finding : findings) {
    const std::string key = finding.object + "\n" + finding.reason + "\n" + finding.message;
    holding.insert(key);
    if (!logged_.contains(key)) base::log::Warn(finding.message, {{"object", finding.object}, {"reason", finding.reason}});
    if (tells && told_.insert(key).second) events_.Warning(finding.about, finding.reason, finding.message);
  }
  logged_ = std::move(holding);
  std::erase_if(told_, [&](const std::string& key) { return !logged_.contains(key); });
}

void FindingReporter::ReportOnce(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    base::log::Warn(finding.message, {{"object", finding.object}, {"reason", finding.reason}});
    events_.Warning(finding.about, finding.reason, finding.message);
  }
}

}  // namespace evenkeel::controllers::distribution
