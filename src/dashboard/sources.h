// The sources of the views: what each reads, and which fields of the view's document its updates fill.
#pragma once

#include "controllers/autoscaler/options/options.h"
#include "controllers/distribution/sharding/options.h"
#include "dashboard/views.h"

namespace evenkeel::dashboard {

/// Of the hub: who owns what. Fields "plan", "replicas", "handovers"; by name of the member "rows" (OwnershipRows); members.
/// In compatible mode, where nobody writes a plan, the claims are read every kSourceTick.
std::unique_ptr<Source> NewFleetSource(SourceContext context, const controllers::distribution::Options& options);
/// Of a member, for the fleet: nodes and pods only. Field "summary" (MemberSummary).
std::unique_ptr<Source> NewSummarySource(SourceContext context);
/// Of a member: its nodes, groups and pods that wait. Fields of cluster/NAME, and "summary".
std::unique_ptr<Source> NewClusterSource(SourceContext context, const controllers::autoscaler::Options& options);

/// Of a member: the loads of its nodes, policies and plans. Fields of balance/NAME.
std::unique_ptr<Source> NewBalanceSource(SourceContext context);
/// Of any cluster: field "events", by EventId.
std::unique_ptr<Source> NewEventSource(SourceContext context, const std::string& cluster);
/// Of any cluster: all objects of a kind as they are, in that field by "namespace/name".
std::unique_ptr<Source> NewObjectSource(SourceContext context, const kube::Resource& resource, const std::string& field);

/// The one of a topic. `cluster`: "" for the hub.
SourceFactory FactoryOf(Topic topic, const std::string& cluster, const controllers::distribution::Options& distribution,
                        const controllers::autoscaler::Options& autoscaler);

}  // namespace evenkeel::dashboard
