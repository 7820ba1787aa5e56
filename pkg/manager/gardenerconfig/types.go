// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gardenerconfig

import (
	"encoding/json"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// configuration is Gardener's ControllerManagerConfiguration as far as Groundskeeper supports it. What only Gardener's own
// controllers read is raw: it is allowed and ignored. Some fields have two names, an older and a newer one.
// Source: controllermanager.config.gardener.cloud/v1alpha1 of github.com/gardener/gardener.
type configuration struct {
	metav1.TypeMeta `json:",inline"`

	GardenClientConnection *clientConnection          `json:"gardenClientConnection"`
	ClientConnection       *clientConnection          `json:"clientConnection"`
	Controllers            map[string]json.RawMessage `json:"controllers"`
	LeaderElection         *leaderElection            `json:"leaderElection"`
	LogLevel               string                     `json:"logLevel"`
	LogFormat              string                     `json:"logFormat"`
	Server                 *server                    `json:"server"`

	SeedClientConnection  json.RawMessage `json:"seedClientConnection"`
	ShootClientConnection json.RawMessage `json:"shootClientConnection"`
	ShootBackup           json.RawMessage `json:"shootBackup"`
	Discovery             json.RawMessage `json:"discovery"`
	KubernetesLogLevel    json.RawMessage `json:"kubernetesLogLevel"`
	Debugging             json.RawMessage `json:"debugging"`
	FeatureGates          json.RawMessage `json:"featureGates"`
}

// clientConnection is that of k8s.io/component-base. Zero is unset.
type clientConnection struct {
	Kubeconfig string  `json:"kubeconfig"`
	QPS        float32 `json:"qps"`
	Burst      int32   `json:"burst"`

	AcceptContentTypes json.RawMessage `json:"acceptContentTypes"`
	ContentType        json.RawMessage `json:"contentType"`
}

// leaderElection is that of k8s.io/component-base.
type leaderElection struct {
	LeaderElect       *bool            `json:"leaderElect"`
	LeaseDuration     *metav1.Duration `json:"leaseDuration"`
	RenewDeadline     *metav1.Duration `json:"renewDeadline"`
	RetryPeriod       *metav1.Duration `json:"retryPeriod"`
	ResourceName      string           `json:"resourceName"`
	ResourceNamespace string           `json:"resourceNamespace"`

	ResourceLock string `json:"resourceLock"`
}

// project is controllers.project.
type project struct {
	ConcurrentSyncs         *int32                        `json:"concurrentSyncs"`
	MinimumLifetimeDays     *int32                        `json:"minimumLifetimeDays"`
	StaleGracePeriodDays    *int32                        `json:"staleGracePeriodDays"`
	StaleExpirationTimeDays *int32                        `json:"staleExpirationTimeDays"`
	StaleSyncPeriod         *metav1.Duration              `json:"staleSyncPeriod"`
	Quotas                  []v1alpha1.QuotaConfiguration `json:"quotas"`
}

type server struct {
	HTTP         *address     `json:"http"`
	HealthProbes *address     `json:"healthProbes"`
	HTTPS        *httpsServer `json:"https"`
	Webhooks     *httpsServer `json:"webhooks"`

	ResourceAdmissionConfiguration *resourceAdmission `json:"resourceAdmissionConfiguration"`

	Metrics             json.RawMessage `json:"metrics"`
	EnableDebugHandlers json.RawMessage `json:"enableDebugHandlers"`
}

// address has no port when the port is zero.
type address struct {
	BindAddress string `json:"bindAddress"`
	Port        int32  `json:"port"`
}

type httpsServer struct {
	address `json:",inline"`

	TLS tlsServer `json:"tls"`
}

// tlsServer names the files of a certificate, or the directory of tls.crt and tls.key.
type tlsServer struct {
	ServerCertPath string `json:"serverCertPath"`
	ServerKeyPath  string `json:"serverKeyPath"`
	ServerCertDir  string `json:"serverCertDir"`
}

type resourceAdmission struct {
	Limits               []resourceLimit  `json:"limits"`
	UnrestrictedSubjects []rbacv1.Subject `json:"unrestrictedSubjects"`
	OperationMode        string           `json:"operationMode"`
}

type resourceLimit struct {
	APIGroups   []string           `json:"apiGroups"`
	APIVersions []string           `json:"apiVersions"`
	Resources   []string           `json:"resources"`
	Size        *resource.Quantity `json:"size"`
	Count       *int64             `json:"count"`
}
