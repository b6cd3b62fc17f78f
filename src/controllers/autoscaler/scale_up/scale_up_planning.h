// One plan being made: what ScaleUpPlanner::Plan keeps between its steps. Only scale_up*.cc include this.
#pragma once

#include "controllers/autoscaler/scale_up/scale_up.h"

namespace evenkeel::controllers::autoscaler {

class ScaleUpPlanning {
 public:
  ScaleUpPlanning(const Options& options, const ExpanderChain& expanders, const SimilarGroups& similar, const ClusterView& view,
                  const NodeTemplates& templates, const NodeObjects& objects, const ScaleUpRequest& request,
                  base::Random& random);

  ScaleUpPlan Run();
  std::vector<GroupDelta> MinSizes();

 private:
  /// A node group as the plan sees it.
  struct Candidate {
    const providers::NodeGroup* group = nullptr;
    const NodeTemplate* node = nullptr;
    int64_t target = 0;  ///< with what this plan has added
    bool atomic = false;
    std::string skipped;        ///< why it may not grow; "": it may
    std::vector<uint8_t> fits;  ///< per pod group
    std::vector<int64_t> room;
    int64_t left() const { return std::max<int64_t>(0, group->max_size - target); }
  };
  struct Option {
    size_t candidate;
    std::vector<size_t> similar;
    std::vector<size_t> pod_groups;  ///< of the estimate's demands
    std::shared_ptr<const Estimate> estimate;
    int64_t nodes;
  };

  // scale_up.cc
  void CountNodes();
  void CountAwaited(const std::map<std::string_view, int64_t>& counted);
  void CountGranted();
  void MakeCandidates();
  bool TakeStep();
  bool AnyWaiting() const;
  bool MayGrow(const Candidate& candidate) const;
  void Keep(ScaleUpStep step);
  void Refill();
  std::optional<int64_t> Capped(const Option& option);
  ScaleUpStep Execute(const Option& option, int64_t nodes);
  std::vector<GroupDelta> Share(const Option& option, int64_t nodes);
  void FillNodes(const Option& option, ScaleUpStep& step);
  scheduling::NodeId AddNode(const ScaleUpStep::NewNode& planned);
  void Finish();

  // scale_up_options.cc
  std::string WhyNot(const Candidate& candidate) const;
  void FindFits(bool first);
  void FindFits(Candidate& candidate, bool first);
  std::vector<size_t> SimilarTo(size_t candidate) const;
  std::vector<Option> MakeOptions();
  std::optional<Option> MakeOption(size_t candidate);
  ExpanderOption ForExpander(const Option& option) const;
  ScaleUpOption Describe(const Option& option) const;

  // scale_up_left.cc
  void NoteLeft();
  void NoteLeft(const Candidate& candidate);
  std::string WhyLeft(const Candidate& candidate) const;

  int64_t Waiting(size_t pod_group) const {
    return static_cast<int64_t>(plan_.pod_groups[pod_group].pods.size() - taken_[pod_group]);
  }
  /// How many more nodes --max-nodes-total allows; nullopt: any number.
  std::optional<int64_t> NodesLeft() const;

  const Options& options_;
  const ExpanderChain& expanders_;
  const SimilarGroups& similar_;
  const ClusterView& view_;
  const NodeTemplates& templates_;
  const NodeObjects& objects_;
  const ScaleUpRequest& request_;
  base::Random& random_;
  scheduling::Snapshot& snapshot_;
  ResourceLimits limits_;
  ExpanderContext expander_;
  std::vector<Candidate> candidates_;  // by group id
  std::vector<size_t> taken_;          // per pod group: pods, from the front, that have a place
  std::vector<size_t> triggered_;      // per pod group: pods, from the front, that some option counted
  std::vector<uint8_t> anywhere_;      // per pod group: fits on some group
  std::map<std::string, std::shared_ptr<const Estimate>> estimates_;  // of this step, by what they depend on
  std::set<std::string> growing_;                                     // groups that grow in this loop
  std::set<size_t> refused_;  // candidates whose options were none to the expander, which ended the plan
  bool late_ = false;         // --max-binpacking-time was over before all options were made
  size_t named_ = 0;          // nodes that the plan has added
  int64_t awaited_ = 0;       // nodes that are neither in the snapshot nor planned, and that groups have been asked for
  /// Where the plan has noted what the nodes that it has added will hold: step, node of the step.
  std::unordered_map<scheduling::NodeId, std::pair<size_t, size_t>> noted_;
  scheduling::NodeSet planned_;
  uint32_t planned_from_ = 0;  // their first position in the snapshot's order
  ScaleUpPlan plan_;
};

}  // namespace evenkeel::controllers::autoscaler
