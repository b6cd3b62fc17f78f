#include "cli/tree/command_clusters.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace evenkeel::cli {
namespace {

// What an API server gives at least, and a number of years in which nobody remembers it.
constexpr base::Duration kLifetimeMin = std::chrono::minutes(10), kLifetimeMax = std::chrono::hours(24 * 365);

void AddClustersFlags(CLI::App& command, ClustersOptions& options) {
  AddKubeconfigFlags(command, options.hub, "the hub");
  command.add_option("-n,--namespace", options.hub.ns, "Namespace of the cluster Secrets")->capture_default_str();
}

void AddMemberKubeconfig(CLI::App& command, ClustersOptions& options) {
  IsFile(command.add_option("--member-kubeconfig", options.member_kubeconfig, "How to reach the member (default: the hub's)"));
}

void AddLifetime(CLI::App& command, ClustersOptions& options) {
  command.add_option_function<std::string>(
      "--token-lifetime",
      [&options](const std::string& text) {
        const auto duration = base::ParseDuration(text);
        if (!duration) throw CLI::ValidationError("--token-lifetime", duration.error().message());
        if (*duration < kLifetimeMin || *duration > kLifetimeMax) {
          throw CLI::ValidationError("--token-lifetime", "not between 10m and 8760h: " + text);
        }
        options.token_lifetime = *duration;
      },
      "How long a token holds; the API server may shorten it (default 720h)");
}

void AddMemberContext(CLI::App& command, ClustersOptions& options, const std::string& what) {
  command.add_option("--member-context", options.member_context, what)->type_name(kContextType);
  AddMemberKubeconfig(command, options);
}

}  // namespace

void AddClusters(CLI::App& app, ClustersOptions& options, Action& action) {
  CLI::App* clusters = app.add_subcommand("clusters", "Register members at the hub")->require_subcommand(1);
  CLI::App* add = clusters->add_subcommand("add", "Make an account in a member and tell the hub of it");
  add->add_option("context", options.member_context, "The member's context, of somebody who may make roles there")
      ->type_name(kContextType)
      ->required();
  AddClustersFlags(*add, options);
  AddMemberKubeconfig(*add, options);
  add->add_option("--name", options.name, "Name of the member and its Secret (default: the context's)");
  add->add_option("--server", options.server, "Its URL as replicas reach it (default: the context's)");
  OneOf(add->add_option("--cloud-provider", options.parts.cloud_provider, "Whose nodes the autoscaler needs rights for")
            ->capture_default_str(),
        {"clusterapi", "kwok", "externalgrpc", "none"});
  add->add_flag("!--no-zookeeper", options.parts.zookeeper, "No rights to run ZooKeepers, which read Secrets");
  AddLifetime(*add, options);
  add->callback([&] { action = [&] { return AddCluster(options, std::cout); }; });

  CLI::App* list = clusters->add_subcommand("list", "Members, how replicas get in, and until when");
  AddClustersFlags(*list, options);
  AddFormFlag(*list, options.output);
  list->callback([&] { action = [&] { return ListClusters(options, std::cout); }; });

  CLI::App* remove = clusters->add_subcommand("remove", "Take a member from the hub");
  remove->add_option("name", options.name, "Name of the member, or of its Secret")->required();
  AddClustersFlags(*remove, options);
  AddMemberContext(*remove, options, "Remove the account from the member, too, by this context");
  remove->callback([&] { action = [&] { return RemoveCluster(options, std::cout); }; });

  CLI::App* rotate = clusters->add_subcommand("rotate", "Give a member's account a new token");
  rotate->add_option("name", options.name, "Name of the member, or of its Secret")->required();
  AddClustersFlags(*rotate, options);
  AddMemberContext(*rotate, options, "End all older tokens at once, by this context (default: the account itself makes one)");
  AddLifetime(*rotate, options);
  rotate->callback([&] { action = [&] { return RotateCluster(options, std::cout); }; });
}

}  // namespace evenkeel::cli
