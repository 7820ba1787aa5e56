// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerManagerConfiguration is the configuration file of groundskeeper-controller-manager.
// A field that is left out has its default; defaulting leaves no pointer below nil.
type ControllerManagerConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// ClientConnection configures how the manager connects to the API server.
	ClientConnection ClientConnectionConfiguration `json:"clientConnection"`
	// LeaderElection configures the election of the active replica.
	LeaderElection LeaderElectionConfiguration `json:"leaderElection"`
	// Log configures the log.
	Log LogConfiguration `json:"log"`
	// Tracing configures where traces of the manager are sent.
	Tracing TracingConfiguration `json:"tracing"`
	// Server has the addresses the manager listens on.
	Server ServerConfiguration `json:"server"`
	// Controllers selects and configures the controllers.
	Controllers ControllersConfiguration `json:"controllers"`
}

// ClientConnectionConfiguration configures how the manager connects to the API server.
type ClientConnectionConfiguration struct {
	// Kubeconfig is the path of a kubeconfig file. Empty: the service account of the pod the manager runs in.
	Kubeconfig string `json:"kubeconfig"`
	// QPS is how many requests per second the manager sends at most, averaged. The default is high on
	// purpose: the server's priority and fairness is the real limit.
	QPS *float32 `json:"qps"`
	// Burst is the number of requests that may exceed QPS for a short time.
	Burst *int32 `json:"burst"`
}

// LeaderElectionConfiguration configures the election of the active replica. The lock is a Lease.
type LeaderElectionConfiguration struct {
	// LeaderElect turns the election on. Without it every replica works, so there may be only one.
	LeaderElect *bool `json:"leaderElect"`
	// ResourceNamespace is the namespace of the Lease. It has to exist.
	ResourceNamespace string `json:"resourceNamespace"`
	// ResourceName is the name of the Lease.
	ResourceName string `json:"resourceName"`
	// LeaseDuration is how long the others wait for a leader that went silent. At least one second.
	LeaseDuration *metav1.Duration `json:"leaseDuration"`
	// RenewDeadline is how long the leader tries to renew before it gives up. Shorter than LeaseDuration.
	RenewDeadline *metav1.Duration `json:"renewDeadline"`
	// RetryPeriod is the pause between two tries, stretched by up to a fifth. Shorter than RenewDeadline.
	RetryPeriod *metav1.Duration `json:"retryPeriod"`
}

// LogLevel is how much is logged.
type LogLevel string

// The levels, from most to least.
const (
	LogLevelDebug LogLevel = "debug"
	LogLevelInfo  LogLevel = "info"
	LogLevelError LogLevel = "error"
)

// LogFormat is how a log line looks.
type LogFormat string

// The formats.
const (
	LogFormatJSON LogFormat = "json"
	LogFormatText LogFormat = "text"
)

// LogConfiguration configures the log.
type LogConfiguration struct {
	// Level is debug, info or error.
	Level LogLevel `json:"level"`
	// Format is json or text. A process that logs to a terminal uses text when this is empty.
	Format LogFormat `json:"format"`
}

// TracingConfiguration configures where traces of the manager are sent. A trace has a span for a reconcile, and one for
// each request that it sends to an API server.
type TracingConfiguration struct {
	// Endpoint is the address of a collector that takes OTLP over gRPC, HOST:PORT. The connection is not encrypted. Empty:
	// there are no traces.
	Endpoint string `json:"endpoint"`
	// SamplingRatePerMillion is how many of a million reconciles are traced.
	SamplingRatePerMillion *int32 `json:"samplingRatePerMillion"`
}

// ControllersConfiguration selects and configures the controllers.
type ControllersConfiguration struct {
	// Enabled names the controllers that run: "*" is all of them, "-name" takes one out.
	Enabled []string `json:"enabled"`
	// Project configures the controllers of Projects.
	Project ProjectControllerConfiguration `json:"project"`
	// Translation configures the controllers of Translations.
	Translation TranslationConfiguration `json:"translation"`
	// Discovery configures the controllers of DiscoveryBackends.
	Discovery DiscoveryConfiguration `json:"discovery"`
	// Kluster configures the controllers of Klusters.
	Kluster KlusterConfiguration `json:"kluster"`
	// LocalVolume configures the cleanup of local volumes whose node no longer exists.
	LocalVolume LocalVolumeConfiguration `json:"localVolume"`
	// Credentials restricts the credentials in the Secrets of Klusters and DiscoveryBackends, which users write.
	Credentials CredentialsConfiguration `json:"credentials"`
}

// CredentialsConfiguration restricts the credentials in the Secrets of Klusters and DiscoveryBackends, which users write.
type CredentialsConfiguration struct {
	// AllowProxyURL accepts kubeconfigs with a proxy-url. Who writes one chooses a server to which pods of Groundskeeper connect, also
	// over plain HTTP or SOCKS.
	AllowProxyURL *bool `json:"allowProxyURL"`
	// AllowPlainHTTP accepts Keystone over plain HTTP. Passwords and tokens are sent in clear text.
	AllowPlainHTTP *bool `json:"allowPlainHTTP"`
}
