#include "kube/cel/library.h"

namespace evenkeel::kube::cel {

Library::Library(uint32_t extensions) : extensions_(extensions) {
  AddOperators(*this);
  AddConversions(*this);
  AddTimes(*this);
  if (Has(Extension::kOptional)) AddOptionals(*this);
  if (Has(Extension::kStrings) || Has(Extension::kStringsLatest)) AddStrings(*this);
  AddLists(*this);
  AddKubernetesValues(*this);
  if (Has(Extension::kNetwork) || Has(Extension::kNetworkLatest)) AddNetwork(*this);
  if (Has(Extension::kFormat)) AddFormats(*this);
  if (Has(Extension::kMath)) AddMath(*this);
  if (Has(Extension::kAuthorizer)) AddAuthorizer(*this);
}

const Function* Library::Find(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

Function& Library::Slot(std::string_view name, Cost cost) {
  Function& function = functions_[std::string(name)];
  if (function.overloads.empty()) {
    function.name = name;
    function.cost = cost;
  }
  return function;
}

void Library::AddOverload(Function& function, std::string_view signature, Implementation run) {
  Overload overload;
  overload.run = run;
  const size_t open = signature.find(".(");
  std::string_view rest = signature;
  if (open != std::string_view::npos) {
    overload.member = true;
    overload.parameters.push_back(types_.Parse(signature.substr(0, open)));
    rest = signature.substr(open + 1);
  }
  // The parameters end where the parenthesis that opens them is closed.
  int depth = 0;
  size_t begin = 1, at = 0;
  for (; at < rest.size(); ++at) {
    const bool closes = rest[at] == ')' && depth == 1;
    if ((rest[at] == ',' && depth == 1) || closes) {
      if (at > begin) overload.parameters.push_back(types_.Parse(rest.substr(begin, at - begin)));
      begin = at + 2;
    }
    if (closes) break;
    depth += rest[at] == '(' ? 1 : rest[at] == ')' ? -1 : 0;
  }
  overload.result = types_.Parse(rest.substr(at + 2));
  for (const Type* type : overload.parameters) EVENKEEL_CHECK(type != nullptr);
  EVENKEEL_CHECK(overload.result != nullptr);
  function.overloads.push_back(std::move(overload));
}

void Library::Add(std::string_view name, std::string_view signature, Implementation run, Cost cost) {
  AddOverload(Slot(name, cost), signature, run);
}

void Library::AddFoldable(std::string_view name, std::string_view signature, Implementation run, Cost cost) {
  Function& function = Slot(name, cost);
  function.foldable = true;
  AddOverload(function, signature, run);
}

void Library::AddAny(std::string_view name, std::initializer_list<std::string_view> signatures, Implementation run, Cost cost) {
  Function& function = Slot(name, cost);
  function.any = true;
  for (const std::string_view signature : signatures) AddOverload(function, signature, run);
}

const std::shared_ptr<const Library>& Library::Kubernetes() {
  static const auto* const library = new std::shared_ptr<const Library>(std::make_shared<const Library>(kKubernetes));
  return *library;
}

const std::shared_ptr<const Library>& Library::Admission() {
  static const auto* const library =
      new std::shared_ptr<const Library>(std::make_shared<const Library>(kKubernetes | Extension::kAuthorizer));
  return *library;
}

}  // namespace evenkeel::kube::cel
