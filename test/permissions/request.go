// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"groundskeeper.io/groundskeeper/test/audit"
)

// Request is what the authorizer checks.
type Request struct {
	Verb, Group, Resource, Name, Namespace string
	// URL is the path of a request that is not for a resource.
	URL string
}

var (
	methods = map[string]string{
		"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost, "update": http.MethodPut,
		"patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
	}
	attributes = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	// allowed is the reason that RBAC gives: the binding and the role.
	allowed = regexp.MustCompile(`^RBAC: allowed by (?:Cluster)?RoleBinding "([^"]*)" of ((?:Cluster)?Role) "([^"]*)"`)
)

// requested returns what the authorizer checked for an event. The log names an object that is created; the authorizer did not know
// its name, so the address is read, as it does. A patch that creates its object is requested twice: the second time, of which the
// log reports nothing, for a creation of that name.
func requested(event audit.Event) ([]Request, error) {
	method, known := methods[event.Verb]
	if !known {
		return nil, fmt.Errorf("%s %s: no such verb is known", event.Verb, event.RequestURI)
	}
	address, err := url.ParseRequestURI(event.RequestURI)
	if err != nil {
		return nil, err
	}
	info, err := attributes.NewRequestInfo(&http.Request{Method: method, URL: address})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", event.Verb, event.RequestURI, err)
	}
	if !info.IsResourceRequest {
		return []Request{{Verb: event.Verb, URL: info.Path}}, nil
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	requests := []Request{{Verb: info.Verb, Group: info.APIGroup, Resource: resource, Name: info.Name, Namespace: info.Namespace}}
	if (info.Verb == "patch" || info.Verb == "update") && event.ResponseStatus.Code == http.StatusCreated {
		creation := requests[0]
		creation.Verb = "create"
		requests = append(requests, creation)
	}
	return requests, nil
}

// byKubernetes reports whether a request is allowed by a role of Kubernetes that Groundskeeper's processes have, as everybody does
// or by a binding in artifacts/.
func byKubernetes(q Request) bool {
	return q.URL != "" || strings.HasSuffix(q.Resource, "reviews") || q.Resource == "configmaps" && q.Name == "extension-apiserver-authentication"
}

// reason returns the role and the binding for which RBAC allowed a request, empty when it did not.
func reason(event audit.Event) (role, binding string) {
	if event.Annotations["authorization.k8s.io/decision"] != "allow" {
		return "", ""
	}
	found := allowed.FindStringSubmatch(event.Annotations["authorization.k8s.io/reason"])
	if found == nil {
		return "", ""
	}
	return found[2] + " " + found[3], found[1]
}
