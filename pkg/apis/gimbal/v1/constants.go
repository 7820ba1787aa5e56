// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"errors"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// FinalizerName keeps a DiscoveryBackend until no route refers to its Services and the Services have been deleted.
const FinalizerName = "gimbal.heptio.com/discovery-backend"

// AnnotationSavedWeights stores, as JSON, the weights that maintenance removed from a route.
const AnnotationSavedWeights = "gimbal.heptio.com/saved-weights"

// AnnotationConfirmedCluster is on a DiscoveryBackend. Its value is an id of the cluster that replaces the one whose services
// were copied.
const AnnotationConfirmedCluster = "gimbal.heptio.com/confirmed-cluster"

// AnnotationRemovedReferences is where a route keeps, for a time, the references that the deletion of a backend removed, as JSON.
const AnnotationRemovedReferences = "gimbal.heptio.com/removed-references"

// Prefixes of the labels of what a discoverer writes. LabelPrefix is written, both are recognised.
const (
	// LabelPrefix is the prefix of today's labels.
	LabelPrefix = "gimbal.projectcontour.io/"
	// LegacyLabelPrefix is the prefix that the released images of Gimbal wrote.
	LegacyLabelPrefix = "gimbal.heptio.com/"
)

// Labels of what a discoverer writes.
const (
	// LabelBackend names the DiscoveryBackend that an object came from.
	LabelBackend = LabelPrefix + "backend"
	// LabelService names the source service of an object.
	LabelService = LabelPrefix + "service"
	// LabelLoadBalancerID holds the id of the source load balancer in OpenStack.
	LabelLoadBalancerID = LabelPrefix + "load-balancer-id"
	// LabelLoadBalancerName holds the name of the source load balancer in OpenStack.
	LabelLoadBalancerName = LabelPrefix + "load-balancer-name"
	// LegacyLabelBackend is LabelBackend as the released images of Gimbal wrote it.
	LegacyLabelBackend = LegacyLabelPrefix + "backend"
	// LegacyLabelService is LabelService as the released images of Gimbal wrote it.
	LegacyLabelService = LegacyLabelPrefix + "service"
)

// Condition types of a DiscoveryBackend.
const (
	// ConditionAvailable is true when the discoverer runs.
	ConditionAvailable = "Available"
	// ConditionCredentialsValid is true when the backend accepts the credentials of the Secret.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionDiscovered is true when the last listing of the backend was copied completely.
	ConditionDiscovered = "Discovered"
	// ConditionDrained is true in maintenance, when every route was rewritten and the grace period is over.
	ConditionDrained = "Drained"
	// ConditionReachable is true when the backend responds to the discoverer, whatever it responds.
	ConditionReachable = "Reachable"
	// ConditionAutomaticMaintenance is true while the traffic is moved away because the backend is not reachable.
	ConditionAutomaticMaintenance = "AutomaticMaintenance"
	// ConditionClusterUnique is false while another DiscoveryBackend, or a Kluster that it does not announce, is known to lead to the same
	// cluster, or the backend is the management cluster. Otherwise it does not exist.
	ConditionClusterUnique = "ClusterUnique"
	// ConditionReferencesRemoved is true when the deletion of the backend removed references from routes.
	ConditionReferencesRemoved = "ReferencesRemoved"
)

// ReasonSameCluster is the reason of ConditionClusterUnique, and of ConditionDrained in maintenance while the cluster may get requests by
// another DiscoveryBackend.
const ReasonSameCluster = "SameCluster"

// ReasonSameClusterKluster is the reason of ConditionClusterUnique while a Kluster leads to the same cluster, and no other
// DiscoveryBackend. Both may be in use.
const ReasonSameClusterKluster = "SameClusterKluster"

// Types of the entries in status.errors.
const (
	// ErrorConnection means the backend does not respond.
	ErrorConnection = "ConnectionError"
	// ErrorRateLimited means there are too many requests for the backend, which rejects them, or for the limit of the discoverer.
	ErrorRateLimited = "RateLimited"
	// ErrorAuthentication means the backend rejected the credentials, or the Secret has none.
	ErrorAuthentication = "AuthenticationError"
	// ErrorAnotherCluster means the credentials lead to another cluster than the one whose services were copied.
	ErrorAnotherCluster = "AnotherCluster"
	// ErrorInvalidService means a service of the backend cannot be copied.
	ErrorInvalidService = "InvalidService"
	// ErrorNameCollision means two services of the backend would have one name here.
	ErrorNameCollision = "NameCollision"
	// ErrorAddressDenied means addresses of a service are not copied, because no backend may have them.
	ErrorAddressDenied = "AddressDenied"
	// ErrorNamespaceMissing means services wait for a namespace.
	ErrorNamespaceMissing = "NamespaceMissing"
	// ErrorConflict means that an object with another owner has the name of a copy.
	ErrorConflict = "Conflict"
	// ErrorNoAlternative means routes have no other backend that could take the traffic.
	ErrorNoAlternative = "NoAlternative"
	// ErrorStillReceiving means routes send to a backend in maintenance, and neither weights nor endpoints stop them.
	ErrorStillReceiving = "StillReceiving"
	// ErrorNotDrained means an object that maintenance does not change refers to a service of a backend in maintenance.
	ErrorNotDrained = "NotDrained"
	// ErrorServiceFailedOver means requests for a service without a ready endpoint go to other receivers of a route.
	ErrorServiceFailedOver = "ServiceFailedOver"
	// ErrorRouteRefused means the API server rejects the change of a route.
	ErrorRouteRefused = "RouteRefused"
	// ErrorWeightsLost means the saved weights of a route were lost, so its traffic is spread evenly.
	ErrorWeightsLost = "WeightsLost"
)

// Periods of automatic maintenance of a backend that sets none.
const (
	// DefaultUnreachablePeriod is how long a backend has to be unreachable before automatic maintenance begins.
	DefaultUnreachablePeriod = 5 * time.Minute
	// DefaultStablePeriod is how long it has to be reachable before automatic maintenance ends.
	DefaultStablePeriod = 10 * time.Minute
	// DefaultUnreadyPeriod is how long a Service has to be without a ready endpoint before its requests go to other receivers.
	DefaultUnreadyPeriod = 10 * time.Second
	// DefaultServiceStablePeriod is how long it has to have one before they return.
	DefaultServiceStablePeriod = time.Minute
)

const (
	// MaxErrorsPerWriter is how many entries of status.errors the operator, the discoverer and the maintenance
	// controller each write at most.
	MaxErrorsPerWriter = 50
	// MaxRouteNames is how many routes status.routes.withoutAlternative names at most.
	MaxRouteNames = 20
	// MaxNameLength is how long the name of a DiscoveryBackend may be. It starts the name of everything discovered.
	MaxNameLength = 40
)

// IsReservedKey reports whether a label or annotation with this key has a meaning for Groundskeeper, so that only Groundskeeper
// may write it on copies.
func IsReservedKey(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return key == "app.kubernetes.io/managed-by" || domain+"/" == LabelPrefix || domain+"/" == LegacyLabelPrefix ||
		domain == "groundskeeper.io" || strings.HasSuffix(domain, ".groundskeeper.io")
}

// IsLabelKey reports whether a text is the key of a label, or a prefix of keys that ends with a slash.
func IsLabelKey(key string) bool {
	if domain, ok := strings.CutSuffix(key, "/"); ok {
		return len(validation.IsDNS1123Subdomain(domain)) == 0
	}
	return len(validation.IsQualifiedName(key)) == 0
}

// SecretName returns the name of the Secret with what is needed to connect, whichever of its two fields gives it.
func (c *Cluster) SecretName() string {
	if c.Secret != "" {
		return c.Secret
	}
	return c.Credentials
}

// ParseNetwork reads a network of addresses in CIDR notation, for instance 10.1.0.0/16.
func ParseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, errors.New("must be a network in CIDR notation, for instance 10.1.0.0/16 or 2001:db8::/32")
	case network.Addr().Is4In6():
		return netip.Prefix{}, errors.New("must not contain IPv4 addresses in the form of IPv6 ones, write them as IPv4")
	case network != network.Masked():
		return netip.Prefix{}, errors.New("must begin with the first address of the network: write " + network.Masked().String())
	}
	return network, nil
}
