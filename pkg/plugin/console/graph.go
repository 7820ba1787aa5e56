// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
)

// GraphNode is a resource of the backend network.
type GraphNode struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	State string `json:"state"`
	// Message is why the resource is not in sync, or not understood.
	Message string `json:"message,omitempty"`
	// Translation is the path of the Translation that lists it, Owner the object that it was made of.
	Translation string `json:"translation,omitempty"`
	Owner       string `json:"owner,omitempty"`
	// Own reports that this is the requested object.
	Own bool `json:"own"`
}

// GraphEdge leads from a resource to one that it refers to.
type GraphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// understands is what a driver of a backend network knows about resources without a connection.
type understands interface {
	Resolve(item backend.Item) (backend.Resource, error)
	Locate(kind, parent, id string) (backend.Ref, error)
}

// stateUnknown is the state of a resource that has none in the status of its Translation yet.
const stateUnknown = string(midonetv1.BackendResourcePending)

// graph collects the resources of Translations.
type graph struct {
	drivers []understands
	nodes   []GraphNode
	// at are the positions of nodes by their keys and aliases, needs what they refer to.
	at    map[backend.Key]int
	needs [][]backend.Key
}

func newGraph() *graph {
	return &graph{drivers: []understands{&midonetbackend.Backend{}, &ovnbackend.Backend{}}, at: map[backend.Key]int{}}
}

// resolve understands a resource by the driver of its backend network.
func (g *graph) resolve(item backend.Item) (backend.Resource, error) {
	var err error
	for _, driver := range g.drivers {
		var resolved backend.Resource
		if resolved, err = driver.Resolve(item); !errors.Is(err, backend.ErrUnknownKind) {
			return resolved, err
		}
	}
	return backend.Resource{}, err
}

func itemOf(r midonetv1.BackendResource) backend.Item {
	return backend.Item{Kind: r.Kind, Parent: r.Parent, Body: r.Body}
}

func (g *graph) locate(s *midonetv1.BackendResourceStatus) backend.Key {
	for _, driver := range g.drivers {
		if ref, err := driver.Locate(s.Kind, s.Parent, s.ID); err == nil {
			return ref.Key
		}
	}
	return backend.Key{Kind: s.Kind, Scope: s.Parent, ID: s.ID}
}

// add adds the resources of a Translation, those that are still to be deleted, too.
func (g *graph) add(t *midonetv1.Translation, own bool) {
	owner := ownerOf(t).text()
	path := keyOf(Kind{Name: "translation"}, client.ObjectKeyFromObject(t))
	states := map[backend.Key]*midonetv1.BackendResourceStatus{}
	for i := range t.Status.Resources {
		states[g.locate(&t.Status.Resources[i])] = &t.Status.Resources[i]
	}
	node := func(key backend.Key, name string, needs, aliases []backend.Key, problem string) {
		n := GraphNode{ID: key.String(), Kind: key.Kind, Name: name, State: stateUnknown, Message: problem, Translation: path, Owner: owner,
			Own: own}
		if key.Scope != "" && key.ID != "" {
			n.ID += " of " + key.Scope
		}
		if s := states[key]; s != nil {
			n.State, n.Message = string(s.State), cmp.Or(problem, s.Message)
			delete(states, key)
		}
		if _, listed := g.at[key]; listed {
			return // another Translation lists it, too
		}
		for _, k := range append(aliases, key) {
			g.at[k] = len(g.nodes)
		}
		g.nodes, g.needs = append(g.nodes, n), append(g.needs, needs)
	}
	for _, listed := range t.Resources {
		r, err := g.resolve(itemOf(listed))
		if err != nil {
			node(backend.Key{Kind: listed.Kind, Scope: path, ID: listed.Body}, listed.Kind, nil, nil, err.Error())
			continue
		}
		node(r.Key, nameIn(r), r.Needs, r.Aliases, "")
	}
	for _, s := range t.Status.Resources {
		if key := g.locate(&s); states[key] != nil {
			node(key, s.ID, nil, nil, "")
		}
	}
}

// done returns the first resources and those that these refer to, and what refers to what.
func (g *graph) done(before int) ([]GraphNode, []GraphEdge) {
	edges := []GraphEdge{}
	referred := map[int]bool{}
	for from, needs := range g.needs[:before] {
		seen := map[int]bool{from: true}
		for _, key := range needs {
			to, listed := g.at[key]
			if listed && seen[to] {
				continue
			}
			if !listed {
				to = len(g.nodes)
				g.at[key] = to
				g.nodes = append(g.nodes, GraphNode{ID: key.String(), Kind: key.Kind, Name: key.ID,
					Message: "none of the Translations that are shown lists it"})
				g.needs = append(g.needs, nil)
			}
			seen[to], referred[to] = true, true
			edges = append(edges, GraphEdge{From: g.nodes[from].ID, To: g.nodes[to].ID})
		}
	}
	nodes := append([]GraphNode{}, g.nodes[:before]...) // never nil, which the page cannot read
	for i := before; i < len(g.nodes); i++ {
		if referred[i] {
			nodes = append(nodes, g.nodes[i])
		}
	}
	return nodes, edges
}

// nameIn is what users recognize a resource by: a name in its body, else its type or address, else its id.
func nameIn(r backend.Resource) string {
	var body map[string]any
	if json.Unmarshal(r.Body, &body) == nil {
		for _, field := range []string{"name", "interfaceName", "macAddr", "ip", "nwDstAddress", "dstNetworkAddr", "ipAddress", "type"} {
			if text, ok := body[field].(string); ok && text != "" {
				return text
			}
		}
	}
	return r.ID
}

// ownerOf is the object that a Translation was made of, nil for what there is once per cluster.
func ownerOf(t *midonetv1.Translation) *Owner {
	if len(t.OwnerReferences) == 0 {
		return nil
	}
	owner := &Owner{t.OwnerReferences[0].Kind, t.Namespace, t.OwnerReferences[0].Name}
	if owner.Kind == kindNode {
		owner.Namespace = ""
	}
	return owner
}

func (o *Owner) text() string {
	switch {
	case o == nil:
		return ""
	case o.Namespace == "":
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// partsOf are the parts of objects that have Translations of their own, by the first part of the names of these.
var partsOf = map[string]string{
	"service-port": "port", "endpoints-port": "endpoints of port", "service-local": "local endpoints on", "pod-arp": "ARP entry",
	"pod-mac": "MAC entry", "node-arp": "ARP entry", "node-mac": "MAC entry", "node-address": "address", "node-gateway": "gateway",
	"node-tunnel-endpoint": "tunnel endpoint",
}

// addressed is a port with the addresses in the name of its Translation, without its number if it has a name.
var addressed = regexp.MustCompile(`^(.*?)-*[0-9]+(?:\.[0-9]+){3}-.*?([0-9]+)(?:-[a-z]+)?$`)

// titleOf returns the name of a Translation in words, for instance "Service default/web, port http". That of other kinds is "".
func titleOf(object client.Object) string {
	t, ok := object.(*midonetv1.Translation)
	if !ok {
		return ""
	}
	kind, key, ok := strings.Cut(t.Name, "."+midonetv1.TranslationVersion+".")
	owner := ownerOf(t)
	if !ok || owner == nil {
		return ""
	}
	part := partsOf[kind]
	if part == "" {
		return owner.text()
	}
	key = strings.TrimPrefix(key, t.Namespace+"-"+owner.Name)
	key = strings.TrimPrefix(strings.TrimPrefix(key, owner.Name), "-")
	if m := addressed.FindStringSubmatch(key); m != nil && strings.HasSuffix(kind, "-port") {
		key = cmp.Or(m[1], m[2])
	}
	return strings.TrimSpace(owner.text() + ", " + part + " " + key)
}
