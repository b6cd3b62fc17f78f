#include "embedded/federation/hub/federation.h"

#include "embedded/federation/hub/binding_scheduler.h"
#include "embedded/federation/hub/dependencies.h"
#include "embedded/federation/hub/detector.h"
#include "embedded/federation/members/namespace_sync.h"
#include "embedded/federation/members/service_imports.h"
#include "embedded/federation/members/status_collector.h"
#include "embedded/federation/members/work_renderer.h"

namespace evenkeel::embedded::federation {

struct Federation::State {
  State(client::Client& client, base::Executor& executor, base::Random random, FederationOptions options)
      : strand(executor.NewStrand("federation")),
        interpreter(std::move(options.ask)),
        hub(client, strand, executor.clock(), std::move(random), interpreter),
        registry(hub, executor, std::move(options.connect)),
        detector(hub, book),
        scheduler(hub),
        renderer(hub),
        collector(hub),
        services(hub),
        dependencies(hub),
        namespaces(hub) {
    hub.habits = options.habits;
  }

  const std::shared_ptr<base::Strand> strand;
  TemplateBook book;
  Interpreter interpreter;
  Hub hub;
  ClusterRegistry registry;
  Detector detector;
  BindingScheduler scheduler;
  WorkRenderer renderer;
  StatusCollector collector;
  ServiceImporter services;
  DependencyDistributor dependencies;
  NamespaceSync namespaces;
};

Federation::Federation(client::Client& hub, base::Executor& executor, base::Random random, FederationOptions options)
    : state_(std::make_unique<State>(hub, executor, std::move(random), std::move(options))) {}

/// The members' strands are closed as they go, after the one that makes them.
Federation::~Federation() { state_->strand->Close(); }

void Federation::Start() {
  state_->strand->Post([state = state_.get()] {
    state->hub.Start();
    state->registry.Start();
    state->detector.Start();
    state->scheduler.Start();
    state->renderer.Start();
    state->collector.Start();
    state->services.Start();
    state->dependencies.Start();
    state->namespaces.Start();
  });
}

bool Federation::IsTemplate(const base::Json& object) const { return state_->book.IsTemplate(object); }

}  // namespace evenkeel::embedded::federation
