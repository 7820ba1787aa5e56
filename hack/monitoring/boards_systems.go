// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

func discovery() board {
	return board{
		name: "discovery", title: "Groundskeeper: discovery and maintenance", description: "Backends, their copied Services, and their maintenance.",
		rows: []row{
			{"Backends", []panel{
				graph("Conditions", "short", `min by (backend, condition) (groundskeeper_discovery_backend_condition)`, "{{backend}} {{condition}}", "1 is True, 0 is False, -1 is Unknown.").signed(),
				graph("Reconciliations of the operator", "ops", `sum by (outcome) (rate(groundskeeper_discovery_reconciles_total[$__rate_interval]))`, "{{outcome}}", "Reconciles of DiscoveryBackends per second, by outcome."),
				graph("Copies deleted", "short", `sum by (why) (increase(groundskeeper_discovery_copies_deleted_total[$__rate_interval]))`, "{{why}}", "When a backend is being deleted, or has been deleted."),
			}},
			{"Discoverers", []panel{
				graph("Services of backends", "short", `sum by (backendname) (gimbal_discoverer_upstream_services_total)`, "{{backendname}} upstream", "Services that each backend has, and their copies here. The two lines agree when everything is copied.").
					also(`sum by (backendname) (gimbal_discoverer_replicated_services_total)`, "{{backendname}} copied"),
				graph("Endpoints of backends", "short", `sum by (backendname) (gimbal_discoverer_upstream_endpoints_total)`, "{{backendname}} upstream", "Endpoints that each backend has, and their copies here.").
					also(`sum by (backendname) (gimbal_discoverer_replicated_endpoints_total)`, "{{backendname}} copied"),
				graph("Not copied", "short", `sum by (backendname) (gimbal_discoverer_invalid_services_total)`, "{{backendname}} services", "Objects that cannot be copied: status.errors of the backend has the reasons.").
					also(`sum by (backendname) (gimbal_discoverer_invalid_endpoints_total)`, "{{backendname}} endpoints"),
				graph("Errors", "ops", `sum by (backendname, errortype) (rate(gimbal_discoverer_error_total[$__rate_interval]))`, "{{backendname}} {{errortype}}", "Errors of discoverers per second, by type; status.errors of the backend has the messages.").
					also(`sum by (backendname, errortype) (rate(gimbal_service_error_total[$__rate_interval]))`, "{{backendname}} service {{errortype}}").
					also(`sum by (backendname, errortype) (rate(gimbal_endpoints_error_total[$__rate_interval]))`, "{{backendname}} endpoints {{errortype}}"),
				graph("Queued Services", "short", `max by (backendname) (gimbal_queuesize)`, "{{backendname}}", "Services that a discoverer has still to compare or write."),
				graph("Latency of the backend (99 %)", "ms", `histogram_quantile(0.99, sum by (backendname, le) (rate(gimbal_discoverer_api_latency_milliseconds_bucket[$__rate_interval])))`, "{{backendname}}", "How long 99 of 100 requests to the API of a backend take at most."),
			}},
			{"Maintenance", []panel{
				graph("Drained routes", "short", `max by (backend) (groundskeeper_maintenance_routes_drained)`, "{{backend}} drained", "Routes of each backend in maintenance that send no traffic to it any more, of all that match.").
					also(`max by (backend) (groundskeeper_maintenance_routes_matching)`, "{{backend}} all"),
				graph("Routes that are not reconciled yet", "short", `max by (backend) (groundskeeper_maintenance_routes_pending)`, "{{backend}}", "Routes whose weights the maintenance controller has still to write. It returns to 0 after each change."),
				graph("Writes of routes", "wps", `sum by (what) (rate(groundskeeper_maintenance_route_writes_total[$__rate_interval]))`, "{{what}}", "Routes that the maintenance controller wrote per second, writes that were rejected, and weights that another client set meanwhile.").
					also(`sum(rate(groundskeeper_maintenance_route_refusals_total[$__rate_interval]))`, "rejected").
					also(`sum(rate(groundskeeper_maintenance_forced_weights_total[$__rate_interval]))`, "weights removed again"),
			}},
		},
	}
}

func klusters() board {
	return board{
		name: "klusters", title: "Groundskeeper: Klusters, Deorbit, Route GC", description: "Managed clusters, their routes, and clusters that are being deorbited.",
		rows: []row{
			{"Klusters", []panel{
				graph("Checks", "ops", `sum by (target, outcome) (rate(groundskeeper_kluster_looks_total[$__rate_interval]))`, "{{target}} {{outcome}}", "Of workload clusters and OpenStack projects."),
				graph("Connections to workload clusters", "short", `sum by (purpose) (groundskeeper_kluster_workload_sessions)`, "{{purpose}}", "Open connections, by what they are for."),
				graph("Deleted nodes", "short", `sum(increase(groundskeeper_kluster_nodes_gone_total[$__rate_interval]))`, "nodes", "Nodes that were deleted in workload clusters; Route GC then checks their routes."),
			}},
			{"Deorbit", []panel{
				stack("Klusters being deorbited", `max by (stage) (groundskeeper_deorbit_klusters)`, "{{stage}}", "By the stage that Deorbit is in. One that stays in a stage for hours is blocked: kubectl groundskeeper why."),
				graph("Released", "short", `sum by (outcome) (increase(groundskeeper_deorbit_finished_total[1h]))`, "{{outcome}}", "Per hour."),
				graph("Duration", "s", `histogram_quantile(0.5, sum by (le) (rate(groundskeeper_deorbit_duration_seconds_bucket[6h])))`, "median", "Over six hours.").
					also(`histogram_quantile(0.99, sum by (le) (rate(groundskeeper_deorbit_duration_seconds_bucket[6h])))`, "99 %"),
				graph("Deletions", "short", `sum by (kind) (increase(groundskeeper_deorbit_deleted_total[$__rate_interval]))`, "{{kind}}", "Objects that Deorbit deleted in workload clusters and in OpenStack, by kind."),
				graph("Leftovers", "short", `sum by (kind) (increase(groundskeeper_deorbit_leftovers_total[1h]))`, "{{kind}}", "Per hour. Each is an event and a log line."),
				graph("Failures", "ops", `sum by (stage, reason) (rate(groundskeeper_deorbit_failures_total[$__rate_interval]))`, "{{stage}} {{reason}}", "Checks with an incomplete result."),
			}},
			{"Route GC", []panel{
				graph("Runs", "ops", `sum by (outcome) (rate(groundskeeper_routegc_passes_total[$__rate_interval]))`, "{{outcome}}", "Reconciles per second, by outcome."),
				graph("Aborted runs", "ops", `sum by (reason) (rate(groundskeeper_routegc_aborted_passes_total[$__rate_interval]))`, "{{reason}}", "Passes of Route GC that deleted nothing because they did not see all that they had to, by reason."),
				graph("Orphaned routes", "short", `sum(groundskeeper_routegc_orphaned_routes)`, "existing", "Routes to nodes that do not exist, and how many of them were removed.").
					also(`sum(increase(groundskeeper_routegc_removed_routes_total[$__rate_interval]))`, "removed"),
			}},
			{"OpenStack", []panel{
				graph("Requests", "reqps", `sum by (service, code) (rate(groundskeeper_openstack_requests_total[$__rate_interval]))`, "{{service}} {{code}}", "Requests per second."),
				graph("Latency (99 %)", "s", `histogram_quantile(0.99, sum by (service, le) (rate(groundskeeper_openstack_request_duration_seconds_bucket[$__rate_interval])))`, "{{service}}", "How long 99 of 100 requests take at most."),
				graph("Authentications", "ops", `sum by (outcome) (rate(groundskeeper_openstack_authentications_total[$__rate_interval]))`, "{{outcome}}", "Authentications at Keystone per second, by outcome."),
			}},
		},
	}
}

func translations() board {
	const backend = `groundskeeper_translation_backend_request`
	return board{
		name: "translations", title: "Groundskeeper: Translations", description: "Desired and actual state of the network backend.",
		rows: []row{
			{"Resources", []panel{
				stack("Resources", `max by (state) (groundskeeper_translation_resources)`, "{{state}}", "Backend resources of all Translations, by state."),
				graph("Not in sync", "short", `max by (state) (groundskeeper_translation_resources{state!~"Synced|NotApplicable"})`, "{{state}}", "Resources that differ from the desired state in the backend, by state."),
				graph("Duration of a push (99 %)", "s", `histogram_quantile(0.99, sum by (le) (rate(groundskeeper_translation_push_duration_seconds_bucket[$__rate_interval])))`, "99 %", "Until the backend has all of a Translation."),
			}},
			{"Drift", []panel{
				graph("Found and repaired", "short", `sum(increase(groundskeeper_translation_drift_found_total[$__rate_interval]))`, "found", "Changes by other clients in the backend.").
					also(`sum(increase(groundskeeper_translation_drift_repaired_total[$__rate_interval]))`, "repaired"),
				graph("Comparisons", "short", `sum by (outcome) (increase(groundskeeper_translation_drift_passes_total[$__rate_interval]))`, "{{outcome}}", "Of the whole backend with the Translations."),
				graph("Orphans", "short", `max(groundskeeper_translation_orphans)`, "resources", "Resources of the tenant that no Translation lists.").
					also(`max(groundskeeper_translation_invalid_resources)`, "invalid"),
			}},
			{"Backend", []panel{
				graph("Requests", "reqps", `sum by (method, code) (rate(`+backend+`s_total[$__rate_interval]))`, "{{method}} {{code}}", "Requests per second."),
				graph("Latency (99 %)", "s", `histogram_quantile(0.99, sum by (method, le) (rate(`+backend+`_duration_seconds_bucket[$__rate_interval])))`, "{{method}}", "How long 99 of 100 requests take at most."),
				graph("Lists of hosts", "short", `sum by (outcome) (increase(groundskeeper_translation_host_listings_total[$__rate_interval]))`, "{{outcome}}", "How often the hosts of MidoNet were listed, by outcome. Nodes are annotated with them."),
			}},
			{"Objects of the cluster", []panel{
				graph("Reconciliations", "ops", `sum by (kind, outcome) (rate(groundskeeper_translation_conversions_total[$__rate_interval]))`, "{{kind}} {{outcome}}", "Reconciles per second, by outcome."),
				graph("Writes of Translations", "wps", `sum by (operation) (rate(groundskeeper_translation_writes_total[$__rate_interval]))`, "{{operation}}", "Translations that were written per second, by operation."),
				graph("Not translated", "short", `max by (reason) (groundskeeper_translation_blocked)`, "blocked: {{reason}}", "Objects and Nodes that have no Translation, or not all of one, by reason.").
					also(`max by (reason) (groundskeeper_translation_skipped)`, "skipped: {{reason}}").
					also(`max by (reason) (groundskeeper_translation_nodes_unannotated)`, "nodes: {{reason}}").
					also(`max by (reason) (groundskeeper_translation_nodes_differing)`, "nodes: {{reason}}").
					also(`max by (reason) (groundskeeper_translation_nodes_sharing)`, "nodes: {{reason}}").
					also(`sum(increase(groundskeeper_translation_nodes_annotated_total[$__rate_interval]))`, "nodes annotated"),
			}},
		},
	}
}

func localVolumes() board {
	const deletions = `local_volume_node_cleanup_persistentvolume`
	return board{
		name: "local-volumes", title: "Groundskeeper: local volumes", description: "Claims and volumes of lost nodes, in the management cluster and in workload clusters.",
		rows: []row{
			{"State", []panel{
				value("Brakes engaged", "short", `sum(max by (cluster) (groundskeeper_local_volume_brake_engaged))`, 1, "Clusters with so many missing nodes that nothing is deleted."),
				value("Missing nodes", "short", `sum(max by (cluster) (groundskeeper_local_volume_missing_nodes))`, 0, "Nodes that volumes name, but do not exist."),
				value("Volumes that name no node", "short", `sum(max by (cluster) (groundskeeper_local_volume_not_node_bound))`, 0, "They are never changed or deleted."),
				value("Volumes of other sources", "short", `sum(max by (cluster) (groundskeeper_local_volume_unsupported_source))`, 0, "Their source is not enabled. They are never changed or deleted."),
			}},
			{"Deletions", []panel{
				graph("Claims", "short", `sum(increase(`+deletions+`claim_delete_total[$__rate_interval]))`, "deleted", "PersistentVolumeClaims of lost nodes that were deleted, and deletions that failed.").
					also(`sum(increase(`+deletions+`claim_delete_failed_total[$__rate_interval]))`, "failed"),
				graph("Volumes", "short", `sum by (phase) (increase(`+deletions+`_delete_total[$__rate_interval]))`, "{{phase}} deleted", "PersistentVolumes of lost nodes that were deleted, and deletions that failed, by the phase of the volume.").
					also(`sum by (phase) (increase(`+deletions+`_delete_failed_total[$__rate_interval]))`, "{{phase}} failed"),
				graph("Events not recorded", "short", `sum(increase(groundskeeper_local_volume_events_lost_total[$__rate_interval]))`, "events", "Events about deletions that could not be written."),
			}},
			{"Clusters", []panel{
				graph("Missing nodes", "short", `max by (cluster) (groundskeeper_local_volume_missing_nodes)`, "{{cluster}}", "Nodes that volumes name and that do not exist, by cluster."),
				graph("Brakes", "short", `max by (cluster) (groundskeeper_local_volume_brake_engaged)`, "{{cluster}}", "1 where so many nodes are missing that nothing is deleted until a user acknowledges it."),
			}},
		},
	}
}
