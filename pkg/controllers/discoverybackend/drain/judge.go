// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Judge is implemented by Backends that know which references implementations accept. For others they accept all.
type Judge interface {
	// Permits reports whether a ReferenceGrant permits routes of a kind in a namespace to refer to an object in another namespace.
	Permits(kind schema.GroupKind, namespace string, to schema.GroupKind, object types.NamespacedName) bool
}

// verdict is what implementations report in the status of a route about its references.
type verdict int

const (
	// unreported: not all of them have reported.
	unreported verdict = iota
	// accepted: all references are valid.
	accepted
	// rejected: one of them is not.
	rejected
)

// judgement is what is known of the references of a route besides their targets. The zero value knows nothing, and accepts all.
type judgement struct {
	judge Judge
	// unexplained is set when implementations reject a reference, and none is known to be invalid: it can be any of them.
	unexplained bool
}

// judge finds out what is known of the references. What implementations report may be about an earlier generation of the route: then so
// is what they serve, and the weights that Groundskeeper writes do not decide whether a reference is valid.
func (v *View) judge(backends Backends) judgement {
	j := judgement{}
	j.judge, _ = backends.(Judge)
	if j.judge == nil || v.verdict != rejected {
		return j
	}
	for ref := range v.refs() {
		if target := v.targetOf(backends, ref); target.Missing || j.doubt(v, ref, target) != "" {
			return j
		}
	}
	j.unexplained = true
	return j
}

// doubt returns why implementations reject a reference, or may reject it, "" for no reason that is known. A reference in doubt is no
// alternative, and is not known to get nothing.
func (j judgement) doubt(v *View, ref *ref, target Target) string {
	isGateway := v.kind.Group == gatewayGroup
	to := schema.GroupKind{Kind: "Service"}
	if ref.imported {
		to = schema.GroupKind{Group: importGroup, Kind: importKind}
	}
	switch {
	case target.Protocol != "" && target.Protocol != v.kind.protocol():
		return "its port has protocol " + target.Protocol
	case j.judge == nil:
		return ""
	case ref.foreign && !ref.imported:
		if v.verdict != accepted {
			return "no implementation reports in the status of the route that it resolves this kind"
		}
	case isGateway && ref.service.Namespace != v.namespace && !j.judge.Permits(v.kind.GroupKind, v.namespace, to, ref.service):
		return "no ReferenceGrant in its namespace permits the reference"
	case isGateway && target.AppProtocol != "" && v.verdict != accepted:
		return fmt.Sprintf("no implementation reports in the status of the route that it supports appProtocol %s", target.AppProtocol)
	case ref.imported && v.verdict == rejected, j.unexplained:
		return "the status of the route reports that a reference is not valid"
	}
	return ""
}

// label names a reference to users.
func (r *ref) label() string {
	if r.foreign && !r.imported {
		return r.key
	}
	return r.object().String()
}

// verdict reads the conditions ResolvedRefs of all Gateways that a route is attached to.
func (gateway) verdict(status map[string]any) verdict {
	all := unreported
	for i, parent := range objects(status["parents"]) {
		switch condition(parent, "ResolvedRefs")["status"] {
		case "True":
			if i == 0 {
				all = accepted
			}
		case "False":
			return rejected
		default:
			all = unreported
		}
	}
	return all
}

// verdict reads the condition Valid that Contour sets: of its errors, those of services are about references.
func (contour) verdict(status map[string]any) verdict {
	valid := condition(status, "Valid")
	switch valid["status"] {
	case "True":
		return accepted
	case "False":
		for _, problem := range objects(valid["errors"]) {
			if problem["type"] == "ServiceError" {
				return rejected
			}
		}
	}
	return unreported
}

// verdict: the status of an Ingress has none.
func (ingress) verdict(map[string]any) verdict { return unreported }

// condition returns a condition by its type, nil for none.
func condition(status map[string]any, name string) map[string]any {
	for _, condition := range objects(status["conditions"]) {
		if condition["type"] == name {
			return condition
		}
	}
	return nil
}
