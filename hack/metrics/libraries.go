// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

// kubeAPIServer is not part of Groundskeeper; it serves metrics about Groundskeeper.
const kubeAPIServer = "kube-apiserver"

// libraryFamily is what a library brings: all metrics whose names begin so.
type libraryFamily struct {
	prefixes []string
	what     string
}

// Where the metrics of libraries are documented.
const (
	kubernetesPage = "[Kubernetes' reference](https://kubernetes.io/docs/reference/instrumentation/metrics/)"
	runtimePage    = "[reference of controller-runtime](https://book.kubebuilder.io/reference/metrics-reference)"
)

// libraryFamilies returns all of them.
func libraryFamilies() []libraryFamily {
	return []libraryFamily{
		{[]string{"apiserver_", "aggregator_", "authentication_", "authorization_", "authenticated_", "field_validation_", "kubernetes_", "disabled_metrics_", "hidden_metrics_", "registered_metrics_", "cardinality_", "watch_cache_"},
			"requests, admission, watch caches, storage, authentication and feature gates of the API server: " + kubernetesPage},
		{[]string{"etcd_", "grpc_", "os_"}, "requests of the API server to etcd, and metrics of an embedded etcd: [metrics of etcd](https://etcd.io/docs/latest/metrics/)"},
		{[]string{"controller_runtime_", "workqueue_", "leader_election_", "certwatcher_"}, "loops, queues, leadership and certificate files of the controller manager: " + runtimePage},
		{[]string{"rest_client_", "reflector_", "informer_", "client_go_"}, "requests and watches of clients in the process: " + kubernetesPage},
		{[]string{"go_", "process_", "promhttp_"}, "memory, CPU and file descriptors of the process: [client_golang](https://github.com/prometheus/client_golang)"},
	}
}

// libraryMetric is one that Groundskeeper's alerts or dashboards use, so that it has to stay.
type libraryMetric struct {
	name     string
	binaries []string
	what     string
}

// libraryMetrics returns all that Groundskeeper's alerts and dashboards use.
func libraryMetrics() []libraryMetric {
	return []libraryMetric{
		{"aggregator_unavailable_apiservice", []string{kubeAPIServer}, "1 while the APIService `name` is not available"},
		{"apiserver_admission_webhook_request_total", []string{kubeAPIServer}, "requests to the webhook `name`, by `code`; 500 when it could not be called"},
		{"apiserver_current_inflight_requests", []string{apiServer}, "requests that are served now, by `request_kind`"},
		{"apiserver_request_duration_seconds", []string{apiServer}, "how long requests take, by `verb` and `resource`"},
		{"apiserver_request_total", []string{apiServer}, "requests, by `verb`, `resource` and `code`"},
		{"apiserver_resource_objects", []string{apiServer}, "stored objects, by `group` and `resource`"},
		{"apiserver_storage_size_bytes", []string{apiServer}, "size of etcd's database on its disk"},
		{"controller_runtime_active_workers", []string{manager}, "passes that run now, by `controller`"},
		{"controller_runtime_reconcile_errors_total", []string{manager}, "passes that failed, by `controller`"},
		{"controller_runtime_reconcile_time_seconds", []string{manager}, "how long passes take, by `controller`"},
		{"controller_runtime_reconcile_total", []string{manager}, "passes, by `controller` and `result`"},
		{"etcd_request_duration_seconds", []string{apiServer}, "how long etcd takes, by `operation`"},
		{"leader_election_master_status", []string{manager}, "1 on the replica that leads"},
		{"process_cpu_seconds_total", []string{apiServer, manager, discoverer, cleaner}, "CPU time"},
		{"process_resident_memory_bytes", []string{apiServer, manager, discoverer, cleaner}, "memory"},
		{"process_start_time_seconds", []string{apiServer, manager, discoverer, cleaner}, "when the process started, in seconds since 1970"},
		{"rest_client_requests_total", []string{manager, cleaner}, "requests to API servers, by `code` and `method`"},
		{"workqueue_depth", []string{manager}, "objects that wait for a reconciliation, by queue (`name`); at most 500 of the Translations that exist at startup"},
		{"workqueue_longest_running_processor_seconds", []string{manager}, "how long the oldest pass has been running, by queue"},
		{"workqueue_queue_duration_seconds", []string{manager}, "how long objects wait, by queue"},
		{"workqueue_work_duration_seconds", []string{manager}, "how long a reconciliation takes, by queue"},
	}
}
