#include "embedded/apiserver/objects/selection.h"

#include "base/text.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

// Of the path of a field; a CRD's that goes deeper cannot be selected by.
constexpr size_t kStepsMax = 16;

struct FieldOffer {
  std::string_view label;
  std::string_view path;  ///< dotted, in the stored form
  std::string_view fallback = "";
};

// Fields beyond metadata.name and metadata.namespace, by "group/plural".
const std::vector<FieldOffer>& OffersOf(const Served& served) {
  static const std::map<std::string, std::vector<FieldOffer>, std::less<>> kOffers = {
      {"/pods",
       {{"spec.nodeName", "spec.nodeName"},
        {"spec.restartPolicy", "spec.restartPolicy"},
        {"spec.schedulerName", "spec.schedulerName"},
        {"spec.serviceAccountName", "spec.serviceAccountName"},
        {"spec.hostNetwork", "spec.hostNetwork", "false"},
        {"status.phase", "status.phase"},
        {"status.podIP", "status.podIP"},
        {"status.nominatedNodeName", "status.nominatedNodeName"}}},
      {"/events",
       {{"involvedObject.kind", "involvedObject.kind"},
        {"involvedObject.namespace", "involvedObject.namespace"},
        {"involvedObject.name", "involvedObject.name"},
        {"involvedObject.uid", "involvedObject.uid"},
        {"involvedObject.apiVersion", "involvedObject.apiVersion"},
        {"involvedObject.resourceVersion", "involvedObject.resourceVersion"},
        {"involvedObject.fieldPath", "involvedObject.fieldPath"},
        {"regarding.kind", "involvedObject.kind"},
        {"regarding.namespace", "involvedObject.namespace"},
        {"regarding.name", "involvedObject.name"},
        {"regarding.uid", "involvedObject.uid"},
        {"reason", "reason"},
        {"type", "type"},
        {"source", "source.component"},
        {"reportingComponent", "reportingComponent"},
        {"reportingController", "reportingComponent"}}},
      {"/nodes", {{"spec.unschedulable", "spec.unschedulable", "false"}}},
      {"/secrets", {{"type", "type"}}},
      {"/namespaces", {{"status.phase", "status.phase"}, {"name", "metadata.name"}}},
      {"/services", {{"spec.clusterIP", "spec.clusterIP"}, {"spec.type", "spec.type"}}},
      {"resource.k8s.io/resourceslices", {{"spec.nodeName", "spec.nodeName"}, {"spec.driver", "spec.driver"}}},
      {"batch/jobs", {{"status.successful", "status.succeeded", "0"}}},
      {"apps/replicasets", {{"status.replicas", "status.replicas", "0"}}},
  };
  static const std::vector<FieldOffer> kNoOffers;
  const std::string group = served.resource.plural == "events" ? "" : served.resource.group;
  const auto found = kOffers.find(group + "/" + served.resource.plural);
  return found == kOffers.end() ? kNoOffers : found->second;
}

std::vector<std::string> StepsOf(std::string_view path) {
  const std::vector<std::string_view> steps = base::Split(path, '.');
  return {steps.begin(), steps.end()};
}

}  // namespace

base::Result<Selection> Selection::Parse(const ServedPointer& kind, const std::string& label_selector,
                                         const std::string& field_selector) {
  const Served& served = *kind;
  Selection selection;
  if (!label_selector.empty()) {
    auto labels = kube::LabelSelector::Parse(label_selector);
    if (!labels) return base::Fail(base::Code::kBadRequest, labels.error().message());
    selection.labels_ = *std::move(labels);
    selection.has_labels_ = true;
  }
  EVENKEEL_ASSIGN(const kube::FieldSelector fields, kube::FieldSelector::Parse(field_selector));
  for (const kube::FieldSelector::Term& term : fields.terms()) {
    const std::string& label = term.path;
    Term parsed;
    parsed.equal = term.equal;
    parsed.value = term.value;
    if (label == "metadata.name" || label == "metadata.namespace") {
      parsed.path = StepsOf(label);
      if (label == "metadata.name" && parsed.equal) selection.only_name_ = parsed.value;
    } else {
      for (const FieldOffer& offer : OffersOf(served)) {
        if (offer.label != label) continue;
        parsed.path = StepsOf(offer.path);
        parsed.fallback = offer.fallback;
      }
      if (std::ranges::find(served.selectable_fields, label) != served.selectable_fields.end()) {
        parsed.path = StepsOf(label);
        selection.form_ = kind;
      }
    }
    if (parsed.path.empty() || parsed.path.size() > kStepsMax) {
      const std::string message = "field label not supported: " + label;
      return base::Fail(base::Code::kBadRequest, "Unable to find \"" + served.resource.ApiVersion() +
                                                     ", Resource=" + served.resource.plural +
                                                     "\" that match label selector \"" + label_selector +
                                                     "\", field selector \"" + field_selector + "\": " + message);
    }
    selection.fields_.push_back(std::move(parsed));
  }
  return selection;
}

bool Selection::FieldsMatch(const Stored& stored) const {
  std::string_view bytes = *stored.bytes;
  std::string read;
  if (form_ != nullptr && HasOtherForm(*form_, stored)) {
    read = ObjectText(*form_, stored);
    bytes = read;
  }
  for (const Term& term : fields_) {
    std::array<std::string_view, kStepsMax> path;
    std::ranges::copy(term.path, path.begin());
    std::string value = RawText(RawFind(bytes, std::span<const std::string_view>(path.data(), term.path.size())));
    if (value.empty()) value = term.fallback;
    if ((value == term.value) != term.equal) return false;
  }
  return true;
}

bool Selection::Matches(const Stored& stored) const {
  if (!fields_.empty() && !FieldsMatch(stored)) return false;
  return !has_labels_ || labels_.Matches(StoredLabels(*stored.bytes));
}

bool Selection::MatchesNow(SharedEvent& event) const {
  if (!fields_.empty() && !FieldsMatch(event.object())) return false;
  return !has_labels_ || labels_.Matches(event.object_labels());
}

bool Selection::MatchedBefore(SharedEvent& event) const {
  if (event.previous().bytes == nullptr) return false;
  if (!fields_.empty() && !FieldsMatch(event.Left())) return false;
  return !has_labels_ || labels_.Matches(event.previous_labels());
}

}  // namespace evenkeel::embedded::apiserver
