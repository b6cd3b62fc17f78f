// Settings of the autoscaler: cluster-autoscaler's flags under their own names, with 1.37's defaults, or 1.26's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace evenkeel::controllers::autoscaler {

/// Which version's rules hold where they differ (reference, section 0).
enum class Compat { k1_37, k1_26 };

struct ResourceRange {
  int64_t min = 0, max = 0;
};

struct Options {
  Compat compat = Compat::k1_37;
  // Loop
  base::Duration scan_interval = std::chrono::seconds(10);
  bool frequent_loops_enabled = true;
  bool scale_up_from_zero = true;
  int64_t max_nodes_total = 0;
  ResourceRange cores_total{0, 320'000};
  ResourceRange memory_total{0, 6'400'000};  ///< GiB
  std::map<std::string, ResourceRange> gpu_total;
  bool enforce_node_group_min_size = false;
  int64_t ok_total_unready_count = 3;
  double max_total_unready_percentage = 45;
  base::Duration max_node_provision_time = std::chrono::minutes(15);
  base::Duration max_node_startup_time = std::chrono::minutes(15);
  base::Duration initial_node_group_backoff_duration = std::chrono::minutes(5);
  base::Duration max_node_group_backoff_duration = std::chrono::minutes(30);
  base::Duration node_group_backoff_reset_timeout = std::chrono::hours(3);
  base::Duration node_info_cache_expire_time = std::chrono::hours(87'600);
  // Node groups
  bool balance_similar_node_groups = false;
  std::vector<std::string> balancing_ignore_labels, balancing_labels;
  double memory_difference_ratio = 0.015, max_free_difference_ratio = 0.05, max_allocatable_difference_ratio = 0.05;
  std::vector<std::string> startup_taints, startup_taint_prefixes, status_taints, ignore_taints;
  bool scale_from_unschedulable = false;
  bool force_ds = false;
  // Scale-up
  std::vector<std::string> expander{"least-waste"};
  std::string grpc_expander_url, grpc_expander_cert;
  int64_t max_nodes_per_scaleup = 1000;
  base::Duration max_nodegroup_binpacking_duration = std::chrono::seconds(10);
  base::Duration max_binpacking_time = std::chrono::minutes(5);
  bool parallel_scale_up = false;
  base::Duration new_pod_scale_up_delay{};
  int64_t expendable_pods_priority_cutoff = -10;
  std::vector<std::string> bypassed_scheduler_names, allowed_scheduler_names;
  bool force_delete_unregistered_nodes = false, force_delete_failed_nodes = false;
  bool all_or_nothing = false;
  int64_t max_groups_per_loop = 4;  ///< our own; 1 with --compat
  // Scale-down
  bool scale_down_enabled = true;
  bool scale_down_unready_enabled = true;
  base::Duration scale_down_delay_after_add = std::chrono::minutes(10);
  base::Duration scale_down_delay_after_delete{};
  base::Duration scale_down_delay_after_failure = std::chrono::minutes(3);
  bool scale_down_delay_type_local = false;
  base::Duration scale_down_unneeded_time = std::chrono::minutes(10);
  base::Duration scale_down_unready_time = std::chrono::minutes(20);
  double scale_down_utilization_threshold = 0.5, scale_down_gpu_utilization_threshold = 0.5;
  bool ignore_daemonsets_utilization = false, ignore_mirror_pods_utilization = false;
  base::Duration scale_down_simulation_timeout = std::chrono::seconds(30);
  base::Duration unremovable_node_recheck_timeout = std::chrono::minutes(5);
  int64_t max_scale_down_parallelism = 10, max_drain_parallelism = 1;
  int64_t max_bulk_soft_taint_count = 10;
  base::Duration max_bulk_soft_taint_time = std::chrono::seconds(3);
  base::Duration node_deletion_candidate_ttl{};
  int64_t max_graceful_termination_sec = 600;
  std::vector<std::pair<int64_t, int64_t>> drain_priority_config;  ///< priority, grace seconds; rising
  base::Duration max_pod_eviction_time = std::chrono::minutes(2);
  base::Duration node_delete_delay_after_taint = std::chrono::seconds(5);
  bool dynamic_node_delete_delay_after_taint_enabled = false;
  base::Duration node_deletion_delay_timeout = std::chrono::minutes(2);
  base::Duration node_deletion_batcher_interval{};
  bool cordon_node_before_terminating = true;
  bool daemonset_eviction_for_empty_nodes = false, daemonset_eviction_for_occupied_nodes = true;
  bool skip_nodes_with_system_pods = true, skip_nodes_with_local_storage = true;
  bool skip_nodes_with_custom_controller_pods = true;
  int64_t min_replica_count = 0;
  base::Duration blocking_system_pod_disruption_timeout = std::chrono::hours(1);
  bool consolidate = false;         ///< our own
  bool learn_devices = true;        ///< new nodes are waited for until they have what others of their group have
  bool upstream_placement = false;  ///< pods are tried where upstream tries them (RoundRobin); with --compat
  /// Snapshot::SetNegativeNamespacesMatchAll; our own. With --compat=1.37, whose libraries are those of 1.36.
  bool negative_namespaces_match_all = false;
  bool ignore_other_autoscalers = false;  ///< our own
  // Process
  std::string ns = "kube-system";
  bool write_status_configmap = true;
  std::string status_config_map_name = "cluster-autoscaler-status";
  bool record_duplicated_events = false;
  bool emit_per_nodegroup_metrics = false;
  std::string cluster_name, cloud_provider, cloud_config;
  std::vector<std::string> node_group_auto_discovery;
};

}  // namespace evenkeel::controllers::autoscaler
