// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ServerConfiguration has the addresses the manager listens on.
type ServerConfiguration struct {
	// Health serves /healthz, /livez, /readyz, /statusz, /configz and /metrics over plain HTTP.
	Health AddressConfiguration `json:"health"`
	// ObjectMetrics adds metrics of single objects to /metrics.
	ObjectMetrics ObjectMetricsConfiguration `json:"objectMetrics"`
	// Debugging serves profiles and the level of the log over plain HTTP, when it is enabled. Clients are not authenticated, so
	// it has to be a loopback address. Use kubectl port-forward to reach it.
	Debugging DebuggingConfiguration `json:"debugging"`
	// Webhooks serves the admission webhooks over HTTPS.
	Webhooks WebhooksConfiguration `json:"webhooks"`
}

// AddressConfiguration is an address to listen on.
type AddressConfiguration struct {
	// BindAddress is an IP address or a host name. Empty: every address of the machine.
	BindAddress string `json:"bindAddress"`
	// Port is a TCP port. 0: any free one, which the log names.
	Port *int32 `json:"port"`
}

// ObjectMetricsConfiguration configures metrics of single objects, by namespace and name: whether they are Ready, since when they
// do not progress, what is left of a deletion. They are computed in each scrape.
type ObjectMetricsConfiguration struct {
	// Kinds are the kinds whose objects have metrics: Project, Kluster, DiscoveryBackend and Translation. Empty: none.
	Kinds []string `json:"kinds"`
	// Limit is how many objects of a kind have metrics at most. Those that are not Ready come first.
	// groundskeeper_objects_omitted counts the others.
	Limit *int32 `json:"limit"`
}

// DebuggingConfiguration configures the server of profiles and of the level of the log.
type DebuggingConfiguration struct {
	// Enabled turns it on.
	Enabled *bool `json:"enabled"`

	AddressConfiguration `json:",inline"`
}

// WebhooksConfiguration configures the server of the admission webhooks.
type WebhooksConfiguration struct {
	AddressConfiguration `json:",inline"`

	// Certificates configures the source of the serving certificate.
	Certificates CertificatesConfiguration `json:"certificates"`
	// ResourceSize limits the size and the number of objects (/webhooks/validate-resource-size).
	ResourceSize ResourceSizeConfiguration `json:"resourceSize"`
}

// CertificatesMode is the source of a serving certificate.
type CertificatesMode string

// The modes.
const (
	// CertificatesSelfManaged generates a CA and a certificate, stores them in a Secret, renews them before they expire and
	// injects the CA bundle where clients read it.
	CertificatesSelfManaged CertificatesMode = "SelfManaged"
	// CertificatesFiles reads files and reloads them when they change. The CA bundle has to be configured separately.
	CertificatesFiles CertificatesMode = "Files"
)

// CertificatesConfiguration configures the source of a serving certificate.
type CertificatesConfiguration struct {
	// Mode is SelfManaged or Files.
	Mode CertificatesMode `json:"mode"`
	// CertFile is the path of the certificate, in PEM, followed by those that signed it. Mode Files only.
	CertFile string `json:"certFile"`
	// KeyFile is the path of its private key, in PEM. Mode Files only.
	KeyFile string `json:"keyFile"`
}

// ResourceSizeMode is what happens to an object that exceeds a limit.
type ResourceSizeMode string

// The modes.
const (
	// ResourceSizeBlock rejects the object.
	ResourceSizeBlock ResourceSizeMode = "Block"
	// ResourceSizeLog allows the object, with a warning and a log message.
	ResourceSizeLog ResourceSizeMode = "Log"
)

// ResourceSizeConfiguration limits the size and the number of objects.
type ResourceSizeConfiguration struct {
	// Mode is Block or Log.
	Mode ResourceSizeMode `json:"mode"`
	// Limits are the limits. The first that names the resource of a request counts.
	Limits []ResourceLimit `json:"limits"`
	// UnrestrictedSubjects are users, groups and service accounts whom no limit binds.
	UnrestrictedSubjects []rbacv1.Subject `json:"unrestrictedSubjects"`
}

// ResourceLimit is what the objects of some resources may cost.
type ResourceLimit struct {
	// APIGroups are the groups of the resources; "*" is all of them, "" the core group.
	APIGroups []string `json:"apiGroups"`
	// APIVersions are the versions of the resources; "*" is all of them, and so is an empty list.
	APIVersions []string `json:"apiVersions"`
	// Resources are the plural names of the resources; "*" is all of them.
	Resources []string `json:"resources"`
	// Size is how many bytes the JSON of an object may have, without its status and its managed fields, unless those are
	// larger than all the rest.
	Size *resource.Quantity `json:"size"`
	// Count is how many objects of one of the resources a namespace may have (a cluster, when they have none).
	Count *int64 `json:"count"`
}
