// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

// Names of the jobs in the scrape configurations in artifacts/monitoring.
const (
	ofServer  = `job="groundskeeper-apiserver"`
	ofManager = `job="groundskeeper-controller-manager"`
	ofAny     = `job=~"groundskeeper-.+"`
)

// boards returns all dashboards.
func boards() []board {
	return []board{overview(), apiServer(), projects(), discovery(), klusters(), translations(), localVolumes()}
}

func overview() board {
	return board{
		name: "overview", title: "Groundskeeper: overview", description: "Health and resource usage of all components.",
		rows: []row{
			{"State", []panel{
				value("APIServices that are not available", "short",
					`count(aggregator_unavailable_apiservice{name=~"v1beta1.core.gardener.cloud|v1.midonet.org|v1.gimbal.heptio.com|v1.kubernikus.sap.cc"} == 1) or vector(0)`, 1,
					"While one is unavailable, no namespace of the cluster can be deleted."),
				value("API servers", "short", `count(up{`+ofServer+`} == 1) or vector(0)`, -1, "Those that Prometheus reaches."),
				value("Controller managers", "short", `count(up{`+ofManager+`} == 1) or vector(0)`, -1, "Those that Prometheus reaches."),
				value("Leaders", "short", `sum(leader_election_master_status{`+ofManager+`})`, -1, "One controller manager holds the Lease; the others are on standby."),
				value("Alerts", "short", `count(ALERTS{alertname=~"Groundskeeper.+",alertstate="firing"}) or vector(0)`, 1, "Firing alerts of Groundskeeper."),
				value("Certificates expire in", "s", `min(groundskeeper_serving_certificate_expiration_timestamp_seconds) - time()`, -7*24*3600, "The serving certificate that expires first."),
			}},
			{"Objects", []panel{
				graph("Stored objects", "short", `max by (resource) (apiserver_resource_objects{`+ofServer+`,group=~"core.gardener.cloud|midonet.org|gimbal.heptio.com|kubernikus.sap.cc"})`, "{{resource}}", "Objects of each kind in etcd."),
				stack("Projects", `max by (phase) (groundskeeper_projects)`, "{{phase}}", "By phase. Failed ones have the reason in their conditions."),
				graph("Klusters being deorbited", "short", `sum(max by (stage) (groundskeeper_deorbit_klusters))`, "Klusters", "By the stage that Deorbit is in. One that stays in a stage for hours is blocked: kubectl groundskeeper why."),
			}},
			{"Single objects, if server.objectMetrics is configured", []panel{
				graph("Objects that need a user", "short", `max by (kind, namespace, name, reason) (groundskeeper_object_stalled)`, "{{kind}} {{namespace}}/{{name}} {{reason}}", "The message of the condition Stalled has the remedy."),
				graph("No progress since", "s", `(time() - max by (kind, namespace, name) (groundskeeper_object_last_progress_timestamp_seconds)) and on (kind, namespace, name) groundskeeper_object_ready == 0`, "{{kind}} {{namespace}}/{{name}}", "Of objects that are not Ready."),
				graph("Left to delete", "short", `max by (namespace, name) (groundskeeper_object_leftovers)`, "{{namespace}}/{{name}}", "Objects that Deorbit still has to delete, by Kluster."),
				graph("Backends in maintenance", "short", `max by (namespace, name) (groundskeeper_object_drained)`, "{{namespace}}/{{name}}", "1: no traffic is sent to the backend."),
				graph("Objects without metrics", "short", `max by (kind) (groundskeeper_objects_omitted)`, "{{kind}}", "Because server.objectMetrics.limit is reached. Objects that are not Ready come first."),
			}},
			{"Controllers", []panel{
				graph("Reconciliations", "ops", `sum by (controller) (rate(controller_runtime_reconcile_total{`+ofManager+`}[$__rate_interval]))`, "{{controller}}", "Reconciles per second, by outcome."),
				graph("Failed reconciliations", "ops", `sum by (controller) (rate(controller_runtime_reconcile_errors_total{`+ofManager+`}[$__rate_interval]))`, "{{controller}}", "Failed reconciliations are retried."),
				graph("Queued objects", "short", `sum by (name) (workqueue_depth{`+ofManager+`} and on (instance) (leader_election_master_status == 1))`, "{{name}}", "Queues of the leader."),
				graph("Duration of a reconciliation (99 %)", "s",
					`histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{`+ofManager+`}[$__rate_interval])))`, "{{controller}}", "How long 99 of 100 reconciles take at most."),
				graph("Time in the queue (99 %)", "s", `histogram_quantile(0.99, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket{`+ofManager+`}[$__rate_interval])))`, "{{name}}", "How long 99 of 100 objects wait in a queue at most before they are reconciled. It grows when there are too few workers."),
				graph("Requests to API servers", "reqps", `sum by (code) (rate(rest_client_requests_total{`+ofManager+`}[$__rate_interval]))`, "{{code}}", "By status code."),
			}},
			{"Processes", []panel{
				graph("Memory", "bytes", `process_resident_memory_bytes{`+ofAny+`}`, "{{job}} {{instance}}", "Resident memory of each process. Compare it with the limit of the container."),
				graph("CPU", "short", `rate(process_cpu_seconds_total{`+ofAny+`}[$__rate_interval])`, "{{job}} {{instance}}", "In cores."),
				graph("Webhooks", "reqps", `sum by (webhook, outcome) (rate(groundskeeper_webhook_decisions_total[$__rate_interval]))`, "{{webhook}} {{outcome}}", "Reviews by outcome, including errors."),
			}},
		},
	}
}

func apiServer() board {
	const requests = `apiserver_request_total{` + ofServer + `}`
	const duration = `apiserver_request_duration_seconds_bucket{` + ofServer + `,verb!~"WATCH|CONNECT"}`
	return board{
		name: "apiserver", title: "Groundskeeper: API server", description: "Requests, errors and latency of groundskeeper-apiserver, and its etcd.",
		rows: []row{
			{"Requests", []panel{
				graph("Requests", "reqps", `sum by (verb) (rate(`+requests+`[$__rate_interval]))`, "{{verb}}", "Requests per second."),
				graph("Errors", "percentunit", `sum by (code) (rate(apiserver_request_total{`+ofServer+`,code=~"4..|5.."}[$__rate_interval])) / on () group_left sum(rate(`+requests+`[$__rate_interval]))`,
					"{{code}}", "Fraction of all requests, by status code. 404 and 409 are normal."),
				graph("Requests being served", "short", `sum by (request_kind, instance) (apiserver_current_inflight_requests{`+ofServer+`})`, "{{request_kind}} {{instance}}", "Requests that each server works on at this moment, reads and writes apart."),
			}},
			{"Latency", []panel{
				graph("Median", "s", `histogram_quantile(0.5, sum by (verb, le) (rate(`+duration+`[$__rate_interval])))`, "{{verb}}", "The median latency, by verb, without watches."),
				graph("99th percentile", "s", `histogram_quantile(0.99, sum by (verb, le) (rate(`+duration+`[$__rate_interval])))`, "{{verb}}", "The time within which 99 of 100 requests are served, by verb, without watches."),
				graph("99th percentile, by resource", "s", `histogram_quantile(0.99, sum by (resource, le) (rate(`+duration+`[$__rate_interval])))`, "{{resource}}", "The same by resource: it shows which kind is slow."),
			}},
			{"Store", []panel{
				graph("Latency of etcd (99 %)", "s", `histogram_quantile(0.99, sum by (operation, le) (rate(etcd_request_duration_seconds_bucket{`+ofServer+`}[$__rate_interval])))`, "{{operation}}", "How long 99 of 100 operations of etcd take at most. More than 100 ms make every write slow."),
				graph("Database", "bytes", `max(apiserver_storage_size_bytes{`+ofServer+`})`, "size on disk", "The quota of the etcd of Groundskeeper, embedded or not, is 4 GiB."),
				graph("Store recorded", "s", `time() - groundskeeper_store_recorded_timestamp_seconds`, "{{instance}}", "Age of the last record; up to 10 seconds are normal."),
			}},
		},
	}
}

func projects() board {
	return board{
		name: "projects", title: "Groundskeeper: Projects", description: "Projects, their namespaces, and unused Projects.",
		rows: []row{
			{"Projects", []panel{
				stack("Projects", `max by (phase) (groundskeeper_projects)`, "{{phase}}", "By phase. Failed ones have the reason in their conditions."),
				graph("Time until Ready", "s", `histogram_quantile(0.5, sum by (le) (rate(groundskeeper_project_time_to_ready_seconds_bucket[$__rate_interval])))`, "median", "Since the creation of a Project.").
					also(`histogram_quantile(0.99, sum by (le) (rate(groundskeeper_project_time_to_ready_seconds_bucket[$__rate_interval])))`, "99 %"),
				graph("Reconciliations", "ops", `sum by (outcome) (rate(groundskeeper_project_reconciles_total[$__rate_interval]))`, "{{outcome}}", "Reconciles per second, by outcome."),
			}},
			{"Stale Projects", []panel{
				value("Stale", "short", `sum(max by (deletion) (groundskeeper_projects_stale)) or vector(0)`, 0, "With and without a deletion date."),
				value("Next deletion in", "s", `min(groundskeeper_project_next_auto_deletion_timestamp_seconds) - time()`, -3*24*3600, "Empty while none is planned."),
				value("Deleted in 30 days", "short", `sum(increase(groundskeeper_project_auto_deletions_total[30d]))`, 0, "Stale Projects that the controller has deleted."),
			}},
			{"Checks", []panel{
				graph("Stale Projects", "short", `max by (deletion) (groundskeeper_projects_stale)`, "deletion date: {{deletion}}", "With and without a date of deletion."),
				graph("Checks for stale Projects", "ops", `sum by (outcome) (rate(groundskeeper_project_stale_checks_total[$__rate_interval]))`, "{{outcome}}", "unknown: the use of a Project could not be determined."),
			}},
		},
	}
}
