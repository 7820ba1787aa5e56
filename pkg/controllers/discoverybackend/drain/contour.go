// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "k8s.io/apimachinery/pkg/types"

// contour is the flavor of the kinds of Contour, as Contour 1.33 serves them: it leaves out services that do not exist, or
// do not have the port. When all weights of the others are zero or unset, all get the same; else those without a weight get
// nothing. So the only service of a rule gets everything, whatever its weight.
type contour struct {
	// proxy is set for the HTTPProxy, whose routes can have mirrors and direct responses. A tcpproxy has no mirrors:
	// Contour ignores the field there.
	proxy bool
}

const (
	listRoutes   = "routes"
	listTCPProxy = "tcpproxy"
	listServices = "services"
)

func (contour) rules(spec map[string]any) []source {
	var found []source
	for i, content := range objects(spec[listRoutes]) {
		found = append(found, source{list: listRoutes, index: i, content: content, references: listServices})
	}
	if content, ok := spec[listTCPProxy].(map[string]any); ok {
		found = append(found, source{list: listTCPProxy, content: content, references: listServices})
	}
	return found
}

func (c contour) reference(list string, item map[string]any, namespace string) (ref, bool, bool) {
	name, _ := item["name"].(string)
	port, ok := port(item["port"])
	if name == "" || !ok {
		return ref{}, false, false
	}
	mirror, _ := item["mirror"].(bool)
	mirror = mirror && c.proxy && list == listRoutes
	found := serviceRef(types.NamespacedName{Namespace: namespace, Name: name}, port)
	if mirror {
		return found, true, true // its weight is a percentage of the requests
	}
	found.weight, ok = weight(item)
	return found, false, ok
}

func (contour) receives(slots []slot, weight func(*slot) *int64, gone func(*slot) bool) []bool {
	even := isEven(slots, weight, gone)
	got := make([]bool, len(slots))
	for i := range slots {
		got[i] = !gone(&slots[i]) && (even || positive(weight(&slots[i])))
	}
	return got
}

func (contour) fails() bool { return false }

// uncertain: Contour leaves Services of type ExternalName out unless its configuration allows them.
func (contour) uncertain(target Target) bool { return target.ExternalName }

// isEven reports whether no service that Contour knows has a weight.
func isEven(slots []slot, weight func(*slot) *int64, gone func(*slot) bool) bool {
	return !some(slots, func(x *slot) bool { return !gone(x) && positive(weight(x)) })
}

func (c contour) drain(slots []slot) {
	remains, even := false, isEven(slots, wanted, (*slot).isMissing)
	for i, receives := range c.receives(slots, wanted, (*slot).isMissing) {
		remains = remains || receives && !slots[i].isDrained()
	}
	// Without a remaining receiver, zeros would distribute the requests evenly.
	if !remains || !some(slots, (*slot).isDrained) {
		return
	}
	for i := range slots {
		switch x := &slots[i]; {
		case x.isDrained():
			x.set = new(int64(0))
		case even && !positive(x.wanted):
			x.set = new(int64(1))
		}
	}
}

func (contour) elements() []string { return []string{listRoutes, listTCPProxy} }

func (contour) lacks(map[string]any) string { return "" }

// strip sets a direct response with status 503 in a route that would have no services, which would make the whole virtual host invalid.
// A tcpproxy is removed. An IngressRoute has no direct responses, so its service is retained.
func (c contour) strip(field string, element map[string]any, namespace string, deleted selection) (map[string]any, string) {
	left, taken := sift(element[listServices], func(item map[string]any) bool {
		found, _, ok := c.reference(field, item, namespace)
		return ok && deleted(found.service)
	})
	switch {
	case len(taken) == 0:
	case len(left) > 0:
		element[listServices] = left
	case field == listTCPProxy:
		return nil, ""
	case c.proxy:
		delete(element, listServices)
		element["directResponsePolicy"] = map[string]any{"statusCode": int64(503)}
	default:
		return element, "services: a route needs at least one service"
	}
	return element, ""
}
