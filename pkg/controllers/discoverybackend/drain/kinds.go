// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package drain computes the content of a route while backends are in maintenance: no traffic is sent to their Services, and the desired
// state of the user is stored in an annotation of the route. It consists of pure functions, without clients and clocks.
//
// The result is a function of the desired weights and the drained backends. The desired weights are those of the annotation, or else of
// the route. The result is therefore idempotent, and independent of the order in which backends are drained and restored.
package drain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Manager is the field manager of all writes to routes.
const Manager = "discovery-maintenance"

// Groups of the kinds of routes.
const (
	contourGroup      = "projectcontour.io"
	ingressRouteGroup = "contour.heptio.com"
	gatewayGroup      = "gateway.networking.k8s.io"
	ingressGroup      = "networking.k8s.io"
)

// Kind is a kind of route: how its objects are read and written.
type Kind struct {
	schema.GroupKind
	// Resource is the resource of the kind, in the plural.
	Resource string
	// Versions are those in which it can be read, the newest first.
	Versions []string

	flavor flavor
}

// Object is a Service or, if Import is set, a ServiceImport.
type Object struct {
	types.NamespacedName
	Import bool
}

// String names it to users.
func (o Object) String() string {
	if o.Import {
		return importKind + " " + o.NamespacedName.String()
	}
	return "Service " + o.NamespacedName.String()
}

// Backends reports which Services and ServiceImports are of which backend, and where backends are drained. It must not change during a
// call.
type Backends interface {
	// Of returns the backend that the labels of an object name, "" when there is none. known is false when there is no
	// such object: then what was drained for a backend stays that backend's.
	Of(object Object) (backend string, known bool)
	// Share is which part of its requests the routes of a namespace are to send to a backend, in percent. One of 0 is
	// drained.
	Share(backend, routeNamespace string) int
	// KeepsSole reports whether a drained backend continues to serve routes that have no other backend.
	KeepsSole(backend string) bool
	// Target returns what is behind a port of an object, which is a number or a name.
	Target(object Object, port string) Target
	// ClusterOf identifies the cluster of a backend: two with the same one are no alternative to each other.
	ClusterOf(backend string) string
	// FailsOver reports whether requests for a single Service of a backend move to other backends.
	FailsOver(service types.NamespacedName) bool
}

// Recorder is implemented by Backends for which a 0 is recorded even if it is wanted, so that a record that was removed is missed.
type Recorder interface {
	// Records reports whether that is so for a backend.
	Records(backend string) bool
	// HadRecord reports whether the weights of a backend were recorded in the route when it was drained.
	HadRecord(backend string) bool
}

// Target is what is behind a reference. The zero value is a Service that can take requests.
type Target struct {
	// Missing is set when there is no such object, or it has no such port.
	Missing bool
	// ExternalName is set when the Service is of that type: its requests go where DNS points, regardless of its endpoints.
	ExternalName bool
	// Empty is set when no endpoint of the port is ready.
	Empty bool
	// Protocol is that of the port, OtherProtocol that of a further port with the same number, "" when that is unknown.
	Protocol, OtherProtocol string
	// AppProtocol is that of the port, "" for none. An implementation of the Gateway API may not support it.
	AppProtocol string
}

// describe names a route in errors.
func (k *Kind) describe(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", k.Kind, object.GetNamespace(), object.GetName())
}

// Kinds returns the kinds of routes there are.
func Kinds() []*Kind {
	route := func(group, kind, resource string, flavor flavor, versions ...string) *Kind {
		return &Kind{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Resource: resource, Versions: versions, flavor: flavor}
	}
	return []*Kind{
		route(contourGroup, "HTTPProxy", "httpproxies", contour{proxy: true}, "v1"),
		route(ingressRouteGroup, "IngressRoute", "ingressroutes", contour{}, "v1beta1"),
		route(gatewayGroup, "HTTPRoute", "httproutes", gateway{mirrors: true}, "v1", "v1beta1"),
		route(gatewayGroup, "GRPCRoute", "grpcroutes", gateway{mirrors: true}, "v1", "v1alpha2"),
		route(gatewayGroup, "TCPRoute", "tcproutes", gateway{}, "v1", "v1alpha2"),
		route(gatewayGroup, "TLSRoute", "tlsroutes", gateway{}, "v1", "v1alpha3", "v1alpha2"),
		route(gatewayGroup, "UDPRoute", "udproutes", gateway{}, "v1", "v1alpha2"),
		route(ingressGroup, "Ingress", "ingresses", ingress{}, "v1"),
	}
}

// protocol is that of the ports to which the kind sends requests.
func (k *Kind) protocol() string {
	if k.Kind == "UDPRoute" {
		return "UDP"
	}
	return "TCP"
}

// flavor is what differs between the families of kinds.
type flavor interface {
	// rules are the rules of a route with these fields.
	rules(spec map[string]any) []source
	// reference reads one reference of a rule. mirror reports that it gets copies of requests, not requests. ok is false when it
	// cannot be read.
	reference(list string, item map[string]any, namespace string) (found ref, mirror, ok bool)
	// receives returns which references of a rule get requests by these weights. Those that are gone get none.
	receives(slots []slot, weight func(*slot) *int64, gone func(*slot) bool) []bool
	// fails reports whether requests for a target that is missing get errors. Otherwise the other targets get them.
	fails() bool
	// uncertain reports whether an implementation may treat a target as if it were missing.
	uncertain(target Target) bool
	// verdict reads from the status of a route what implementations report about its references.
	verdict(status map[string]any) verdict
	// drain changes the weights that are set, which are those wanted, so that references of share 0 get nothing, or as little as
	// weights can express.
	drain(slots []slot)
	// elements are the fields of the spec with rules: lists of them, or a single one.
	elements() []string
	// strip removes the references that the predicate selects from an element of one of these fields. It returns the remaining element,
	// or nil, and the reason why a reference was retained, or "".
	strip(field string, element map[string]any, namespace string, deleted selection) (left map[string]any, kept string)
	// lacks returns what a spec without rules would lack, "" when it is valid.
	lacks(spec map[string]any) string
}

type selection = func(types.NamespacedName) bool

// source is where a rule stands in a route.
type source struct {
	// list is the field of the spec in which the rule is, index its position there.
	list  string
	index int
	// content is the rule; references, a list in it, has its references.
	content    map[string]any
	references string
	// filtered is set when mirrors are filters, of the rule and of its references.
	filtered bool
}
