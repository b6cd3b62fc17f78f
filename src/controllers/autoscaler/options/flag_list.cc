#include "base/utf8.h"
#include "controllers/autoscaler/options/flag_table.h"
#include "controllers/autoscaler/options/flag_values.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr double kAny = 1e9;
constexpr std::string_view kOwnProcess = "Evenkeel's own configuration says this";
constexpr std::string_view kOwnLog = "the log is Evenkeel's own: see --log-level";
constexpr std::string_view kOtherCloud = "that cloud is reached through --cloud-provider=externalgrpc";
constexpr std::string_view kNotOffered = "not offered here";
constexpr std::string_view kNotNeeded = "the planner is fast enough without";

using Type = base::OptionType;

/// Of the libraries that write upstream's log.
void AddLog(FlagTable& table) {
  table.Ignored("logging-format", Type::kText, "text", kOwnLog);
  table.Ignored("logtostderr", Type::kBool, "true", kOwnLog);
  for (const char* name : {"alsologtostderr", "add-dir-header", "one-output", "skip-headers", "skip-log-headers",
                           "log-json-split-stream", "log-text-split-stream"}) {
    table.Ignored(name, Type::kBool, "false", kOwnLog);
  }
  table.Ignored("stderrthreshold", Type::kText, "info", kOwnLog);
  table.Ignored("v", Type::kInteger, "0", kOwnLog);
  for (const char* name : {"vmodule", "log-dir", "log-file"}) table.Ignored(name, Type::kText, "", kOwnLog);
  table.Ignored("log-backtrace-at", Type::kText, ":0", kOwnLog);
  table.Ignored("log-file-max-size", Type::kInteger, "1800", kOwnLog);
  table.Ignored("log-flush-frequency", Type::kDuration, "5s", kOwnLog);
  for (const char* name : {"log-json-info-buffer-size", "log-text-info-buffer-size"}) {
    table.Ignored(name, Type::kText, "0", kOwnLog);
  }
}

/// Of clouds that are not built in here.
void AddClouds(FlagTable& table) {
  table.Ignored("aws-use-static-instance-list", Type::kBool, "false", kOtherCloud);
  table.Ignored("bulk-mig-instances-listing-enabled", Type::kBool, "false", kOtherCloud);
  table.Ignored("gce-concurrent-refreshes", Type::kInteger, "1", kOtherCloud);
  table.Ignored("gce-mig-instances-min-refresh-wait-time", Type::kDuration, "5s", kOtherCloud);
  table.Ignored("gce-expander-ephemeral-storage-support", Type::kBool, "true", kOtherCloud);
}

void AddProcess(FlagTable& table) {
  table.Section("Process");
  table.Parsed("compat", "", "1.26", &Options::compat, ParseCompat,
               "rules and defaults of exactly this version of cluster-autoscaler, 1.37 or 1.26, without extras");
  table.Text("namespace", &Options::ns, "namespace of the status ConfigMap and of what else belongs to the autoscaler");
  table.Text("cluster-name", &Options::cluster_name, "name of the cluster, for the provider");
  table.Text("cloud-provider", &Options::cloud_provider, "who makes the nodes");
  table.Text("cloud-config", &Options::cloud_config, "file with the provider's configuration");
  table.Ignored("clusterapi-cloud-config-authoritative", Type::kBool, "false",
                "only --cloud-config names another management cluster, and a file that cannot be read is an error");
  table.Bool("write-status-configmap", &Options::write_status_configmap, "whether the status ConfigMap is written");
  table.Text("status-config-map-name", &Options::status_config_map_name, "name of the status ConfigMap");
  table.Bool(
      "negative-namespace-selectors-match-all", &Options::negative_namespaces_match_all,
      "a namespaceSelector of only NotIn and DoesNotExist means all namespaces, as kube-scheduler 1.34 to 1.36 takes it");
  table.Bool("ignore-other-autoscalers", &Options::ignore_other_autoscalers,
             "act although cluster-autoscaler or Karpenter renews its Lease in the cluster");
  table.Bool("record-duplicated-events", &Options::record_duplicated_events,
             "also events that are the same as one just before");
  table.Bool("emit-per-nodegroup-metrics", &Options::emit_per_nodegroup_metrics, "metrics of every node group");
  table.Ignored("address", Type::kText, ":8085", kOwnProcess);
  for (const char* name : {"kubernetes", "kubeconfig", "feature-gates", "scheduler-config-file"}) {
    table.Ignored(name, Type::kText, "", kOwnProcess);
  }
  table.Ignored("kube-api-content-type", Type::kText, "application/vnd.kubernetes.protobuf", kOwnProcess);
  table.Ignored("kube-client-qps", Type::kNumber, "5", kOwnProcess);
  table.Ignored("kube-client-burst", Type::kInteger, "10", kOwnProcess);
  table.Ignored("user-agent", Type::kText, "cluster-autoscaler", kOwnProcess);
  table.Ignored("leader-elect", Type::kBool, "true", kOwnProcess);
  table.Ignored("leader-elect-lease-duration", Type::kDuration, "15s", kOwnProcess);
  table.Ignored("leader-elect-renew-deadline", Type::kDuration, "10s", kOwnProcess);
  table.Ignored("leader-elect-retry-period", Type::kDuration, "2s", kOwnProcess);
  table.Ignored("leader-elect-resource-lock", Type::kText, "leases", kOwnProcess);
  table.Ignored("leader-elect-resource-name", Type::kText, "cluster-autoscaler", kOwnProcess);
  table.Ignored("leader-elect-resource-namespace", Type::kText, "", kOwnProcess);
  table.Ignored("profiling", Type::kBool, "false", kOwnProcess);
  table.Ignored("max-inactivity", Type::kDuration, "10m", kOwnProcess);
  table.Ignored("max-failing-time", Type::kDuration, "15m", kOwnProcess);
  table.Ignored("max-startup-time", Type::kDuration, "20m", kOwnProcess);
  table.Ignored("debugging-snapshot-enabled", Type::kBool, "false", "plan scale shows what the planner sees");
  table.Ignored("scheduler-verbosity", Type::kInteger, "-1", kOwnLog);
  AddLog(table);
  AddClouds(table);
}

void AddTotals(FlagTable& table) {
  table.Integer("max-nodes-total", &Options::max_nodes_total, "most nodes of the cluster; 0: no limit");
  table.Parsed("cores-total", "0:320000", "0:320000", &Options::cores_total, ParseRange, "min:max cores of the cluster");
  table.Parsed("memory-total", "0:6400000", "0:6400000", &Options::memory_total, ParseRange,
               "min:max GiB of memory of the cluster");
  table.Custom(
      "gpu-total", Type::kMulti, "", "",
      [](Options& options, std::string_view text) -> base::Status {
        EVENKEEL_ASSIGN(auto gpus, ParseGpuRange(text));
        options.gpu_total[gpus.first] = gpus.second;
        return {};
      },
      "type:min:max GPUs of the cluster, the type as in the provider's label");
}

void AddLoop(FlagTable& table) {
  table.Section("Loop");
  table.Duration("scan-interval", &Options::scan_interval, "how often the cluster is looked at");
  table.Bool("frequent-loops-enabled", &Options::frequent_loops_enabled, "look again at once after something was done");
  table.Bool("scale-up-from-zero", &Options::scale_up_from_zero, "act although there are no ready nodes");
  AddTotals(table);
  table.Bool("enforce-node-group-min-size", &Options::enforce_node_group_min_size, "grow groups that are below their minimum");
  table.Integer("ok-total-unready-count", &Options::ok_total_unready_count, "as many unready nodes are always fine");
  table.Number("max-total-unready-percentage", &Options::max_total_unready_percentage, kAny,
               "with more unready nodes than this nothing is scaled");
  table.Duration("max-node-provision-time", &Options::max_node_provision_time, "how long a new node may take to register");
  table.Duration("max-node-startup-time", &Options::max_node_startup_time, "how long a registered node may take to get ready");
  table.Duration("initial-node-group-backoff-duration", &Options::initial_node_group_backoff_duration,
                 "how long a group is left alone after its first failure to grow");
  table.Duration("max-node-group-backoff-duration", &Options::max_node_group_backoff_duration,
                 "how long at most, after further failures");
  table.Duration("node-group-backoff-reset-timeout", &Options::node_group_backoff_reset_timeout,
                 "after how long without a failure a group is as good as new");
  table.Duration("node-info-cache-expire-time", &Options::node_info_cache_expire_time,
                 "how long a group without nodes is taken to be as its last one was");
  table.Ignored("capacity-quotas-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("predicate-parallelism", Type::kInteger, "4", kNotNeeded);
  table.Ignored("enable-graceful-degradation", Type::kBool, "false", kNotNeeded);
  table.Ignored("pending-pods-batching-timeout", Type::kDuration, "4m", kNotNeeded);
  table.Ignored("enable-dynamic-resource-allocation", Type::kBool, "true", "devices that pods claim are always counted");
  table.Ignored("enable-csi-node-aware-scheduling", Type::kBool, "false", "limits of CSINode objects are always kept");
}

void AddNodeGroups(FlagTable& table) {
  table.Section("Node groups");
  table.Ignored("nodes", Type::kMulti, "", "these providers know their node groups and the groups' sizes themselves");
  table.Multi("node-group-auto-discovery", &Options::node_group_auto_discovery, "discoverer:key[=value],... finds node groups");
  table.Bool("balance-similar-node-groups", &Options::balance_similar_node_groups, "grow similar groups evenly");
  table.Multi("balancing-ignore-label", &Options::balancing_ignore_labels, "label in which similar groups may differ");
  table.Multi("balancing-label", &Options::balancing_labels, "groups are similar when these labels are equal");
  table.Number("memory-difference-ratio", &Options::memory_difference_ratio, kAny,
               "by how much the memory of similar groups may differ");
  table.Number("max-free-difference-ratio", &Options::max_free_difference_ratio, kAny,
               "by how much the free resources of similar groups may differ");
  table.Number("max-allocatable-difference-ratio", &Options::max_allocatable_difference_ratio, kAny,
               "by how much the allocatable resources of similar groups may differ");
  table.Multi("startup-taint", &Options::startup_taints, "taint of nodes that are still starting");
  table.Multi("startup-taint-prefix", &Options::startup_taint_prefixes, "prefix of such taints");
  table.Multi("status-taint", &Options::status_taints, "taint that new nodes will not have");
  table.Multi("ignore-taint", &Options::ignore_taints, "older name of --startup-taint");
  table.Bool("scale-from-unschedulable", &Options::scale_from_unschedulable, "new nodes are not cordoned, even if the old are");
  table.Bool("force-ds", &Options::force_ds, "new nodes get all DaemonSet pods that suit them");
  table.Ignored("async-node-groups", Type::kBool, "false", kNotOffered);
  table.Ignored("node-autoprovisioning-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("max-autoprovisioned-node-group-count", Type::kInteger, "15", kNotOffered);
}

void AddScaleUpIgnored(FlagTable& table) {
  table.Custom(
      "estimator", Type::kText, "binpacking", "binpacking",
      [](Options&, std::string_view text) -> base::Status {
        if (text == "binpacking") return {};
        return base::Fail(base::Code::kBadRequest, "\"" + base::OneLine(text) + "\": binpacking is the only estimator");
      },
      "how the number of nodes is found");
  table.Ignored("fastpath-binpacking-enabled", Type::kBool, "false", "the fast path is always taken where it is exact");
  table.Ignored("salvo-scale-up", Type::kBool, "false", "see --max-groups-per-loop");
  table.Ignored("salvo-scale-up-budget", Type::kDuration, "1m", "see --max-groups-per-loop");
  table.Ignored("enable-provisioning-requests", Type::kBool, "false", kNotOffered);
  table.Ignored("provisioning-request-initial-backoff-time", Type::kDuration, "1m", kNotOffered);
  table.Ignored("provisioning-request-max-backoff-time", Type::kDuration, "10m", kNotOffered);
  table.Ignored("provisioning-request-max-backoff-cache-size", Type::kInteger, "1000", kNotOffered);
  table.Ignored("check-capacity-batch-processing", Type::kBool, "false", kNotOffered);
  table.Ignored("check-capacity-provisioning-request-max-batch-size", Type::kInteger, "10", kNotOffered);
  table.Ignored("check-capacity-provisioning-request-batch-timebox", Type::kDuration, "10s", kNotOffered);
  table.Ignored("check-capacity-processor-instance", Type::kText, "", kNotOffered);
  table.Ignored("enable-proactive-scaleup", Type::kBool, "false", kNotOffered);
  table.Ignored("pod-injection-limit", Type::kInteger, "5000", kNotOffered);
  table.Ignored("capacity-buffer-controller-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("capacity-buffer-pod-injection-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("capacity-buffer-pod-dry-run-enabled", Type::kBool, "true", kNotOffered);
  table.Ignored("capacity-buffer-ready-replicas-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("scaleup-simulation-for-skipped-node-groups-enabled", Type::kBool, "false", "reasons are always given");
}

void AddScaleUp(FlagTable& table) {
  table.Section("Scale-up");
  table.Parsed("expander", "least-waste", "random", &Options::expander, ParseExpanders,
               "which group grows: random, most-pods, least-waste, least-nodes, price, priority, grpc; the next decides ties");
  table.Text("grpc-expander-url", &Options::grpc_expander_url, "address of the server for --expander=grpc");
  table.Text("grpc-expander-cert", &Options::grpc_expander_cert, "file with the certificate of that server");
  table.Integer("max-nodes-per-scaleup", &Options::max_nodes_per_scaleup, "most nodes of one group at a time");
  table.Duration("max-nodegroup-binpacking-duration", &Options::max_nodegroup_binpacking_duration,
                 "how long the estimate of one group may take");
  table.Duration("max-binpacking-time", &Options::max_binpacking_time, "how long all estimates may take");
  table.Bool("parallel-scale-up", &Options::parallel_scale_up, "ask for the nodes of several groups at once");
  table.Integer("max-groups-per-loop", &Options::max_groups_per_loop, "how many expansions one loop may make", 1);
  table.Bool("all-or-nothing", &Options::all_or_nothing, "grow by all nodes that an option needs or not at all");
  table.Duration("new-pod-scale-up-delay", &Options::new_pod_scale_up_delay, "pods younger than this are not looked at");
  table.Integer("expendable-pods-priority-cutoff", &Options::expendable_pods_priority_cutoff,
                "no node is added for pods of lower priority, nor kept", INT32_MIN);
  table.List("bypassed-scheduler-names", &Options::bypassed_scheduler_names,
             "schedulers whose pods are looked at before the scheduler has");
  table.List("allowed-scheduler-names", &Options::allowed_scheduler_names, "only pods of these schedulers are looked at");
  table.Bool("force-delete-unregistered-nodes", &Options::force_delete_unregistered_nodes,
             "delete instances that never became nodes even below the group's minimum");
  table.Bool("force-delete-failed-nodes", &Options::force_delete_failed_nodes,
             "delete instances that could not be created even below the group's minimum");
  AddScaleUpIgnored(table);
}

void AddScaleDownTimes(FlagTable& table) {
  table.Bool("scale-down-enabled", &Options::scale_down_enabled, "whether nodes are removed");
  table.Bool("scale-down-unready-enabled", &Options::scale_down_unready_enabled, "whether unready nodes are removed");
  table.Duration("scale-down-delay-after-add", &Options::scale_down_delay_after_add, "no removal so soon after a scale-up");
  table.Duration("scale-down-delay-after-delete", &Options::scale_down_delay_after_delete, "no removal so soon after another");
  table.Duration("scale-down-delay-after-failure", &Options::scale_down_delay_after_failure,
                 "no removal so soon after one that failed");
  table.Bool("scale-down-delay-type-local", &Options::scale_down_delay_type_local, "these delays hold per node group");
  table.Duration("scale-down-unneeded-time", &Options::scale_down_unneeded_time, "how long a node must have been unneeded");
  table.Duration("scale-down-unready-time", &Options::scale_down_unready_time, "the same for unready nodes");
  table.Number("scale-down-utilization-threshold", &Options::scale_down_utilization_threshold, kAny,
               "nodes above this utilization are needed");
  table.Number("scale-down-gpu-utilization-threshold", &Options::scale_down_gpu_utilization_threshold, kAny,
               "the same for nodes with GPUs, by their GPUs");
  table.Bool("ignore-daemonsets-utilization", &Options::ignore_daemonsets_utilization, "DaemonSet pods do not count");
  table.Bool("ignore-mirror-pods-utilization", &Options::ignore_mirror_pods_utilization, "static pods do not count");
  table.Duration("scale-down-simulation-timeout", &Options::scale_down_simulation_timeout,
                 "how long one loop may look for nodes to remove");
  table.Duration("unremovable-node-recheck-timeout", &Options::unremovable_node_recheck_timeout,
                 "how long a node that could not be removed is left alone");
}

void AddScaleDownActions(FlagTable& table) {
  table.Integer("max-scale-down-parallelism", &Options::max_scale_down_parallelism, "most nodes that are removed at a time", 1);
  table.Integer("max-drain-parallelism", &Options::max_drain_parallelism, "of those, most that have pods", 1);
  table.Custom(
      "max-empty-bulk-delete", Type::kInteger, "10", "10",
      [](Options& options, std::string_view text) -> base::Status {
        return base::ReadOption(text, options.max_scale_down_parallelism, {.min = 1});
      },
      "older name of --max-scale-down-parallelism");
  table.Integer("max-bulk-soft-taint-count", &Options::max_bulk_soft_taint_count, "most soft taints per loop; 0: none at all");
  table.Duration("max-bulk-soft-taint-time", &Options::max_bulk_soft_taint_time, "how long a loop may spend on soft taints");
  table.Duration("node-deletion-candidate-ttl", &Options::node_deletion_candidate_ttl,
                 "how old a soft taint may be to tell since when a node is unneeded");
  table.Integer("max-graceful-termination-sec", &Options::max_graceful_termination_sec, "most seconds that a pod gets to end");
  table.Parsed("drain-priority-config", "", "", &Options::drain_priority_config, ParseDrainPriorities,
               "priority:seconds,...: pods end group by group, each with its own time");
  table.Duration("max-pod-eviction-time", &Options::max_pod_eviction_time, "how long an eviction is tried");
  table.Duration("node-delete-delay-after-taint", &Options::node_delete_delay_after_taint,
                 "how long the scheduler gets to see that a node goes");
  table.Bool("dynamic-node-delete-delay-after-taint-enabled", &Options::dynamic_node_delete_delay_after_taint_enabled,
             "find that time out");
  table.Duration("node-deletion-delay-timeout", &Options::node_deletion_delay_timeout,
                 "how long delay-deletion annotations are waited for");
  table.Duration("node-deletion-batcher-interval", &Options::node_deletion_batcher_interval,
                 "how long nodes are gathered to be deleted together");
  table.Bool("cordon-node-before-terminating", &Options::cordon_node_before_terminating, "cordon nodes that go");
  table.Bool("daemonset-eviction-for-empty-nodes", &Options::daemonset_eviction_for_empty_nodes,
             "end DaemonSet pods of empty nodes gracefully");
  table.Bool("daemonset-eviction-for-occupied-nodes", &Options::daemonset_eviction_for_occupied_nodes,
             "end DaemonSet pods of other nodes gracefully");
}

void AddScaleDownRules(FlagTable& table) {
  table.Bool("skip-nodes-with-system-pods", &Options::skip_nodes_with_system_pods,
             "kube-system pods without a budget hold nodes");
  table.Bool("skip-nodes-with-local-storage", &Options::skip_nodes_with_local_storage, "pods with local volumes hold nodes");
  table.Bool("skip-nodes-with-custom-controller-pods", &Options::skip_nodes_with_custom_controller_pods,
             "pods of controllers that are not built in hold nodes");
  table.Integer("min-replica-count", &Options::min_replica_count, "pods of smaller ReplicaSets hold nodes");
  table.Duration("blocking-system-pod-distruption-timeout", &Options::blocking_system_pod_disruption_timeout,
                 "how long kube-system pods hold nodes");
  table.Bool("consolidate", &Options::consolidate, "replace several under-used nodes by fewer or cheaper ones");
  table.Ignored("scale-down-non-empty-candidates-count", Type::kInteger, "30", "upstream does not use it any more");
  table.Ignored("scale-down-candidates-pool-ratio", Type::kNumber, "0.1", "upstream does not use it any more");
  table.Ignored("scale-down-candidates-pool-min-count", Type::kInteger, "50", "upstream does not use it any more");
  table.Ignored("parallel-drain", Type::kBool, "true", "see --max-drain-parallelism");
  table.Ignored("node-removal-latency-tracking-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("max-node-skip-eval-time-tracker-enabled", Type::kBool, "false", kNotOffered);
  table.Ignored("regional", Type::kBool, "false", kNotOffered);
  table.Ignored("cluster-snapshot-parallelism", Type::kInteger, "16", kNotNeeded);
}

}  // namespace

std::vector<Flag> MakeFlagTable() {
  FlagTable table;
  AddProcess(table);
  AddLoop(table);
  AddNodeGroups(table);
  AddScaleUp(table);
  table.Section("Scale-down");
  AddScaleDownTimes(table);
  AddScaleDownActions(table);
  AddScaleDownRules(table);
  return table.Take();
}

}  // namespace evenkeel::controllers::autoscaler
