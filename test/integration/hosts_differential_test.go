// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/test/plane"
)

// likeTranslations is the group of a CustomResourceDefinition with the schema of a Translation.
const likeTranslations = "differential.example.com"

// endpoint is one of the three ways to objects that the same requests are sent to.
type endpoint struct {
	client *http.Client
	host   string
	group  string
}

// exchange is a request. differs is why a definition responds otherwise, as it does to requests for the kinds of Kubernetes.
type exchange struct{ method, path, accept, content, body, differs string }

// TestDifferential sends the same requests to the API through the aggregator, to the API server itself, and to a CustomResourceDefinition
// of the same schema, and compares status, content type, kind and reason: what a client of Kubernetes relies on.
func TestDifferential(t *testing.T) {
	rare(t)
	t.Parallel()
	p, err := plane.Start(t.Context(), plane.Options{Dir: t.TempDir(), APIServers: 1, UnsafeNoFsync: true, GOGC: gogc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	define(t, p)
	ways := map[string]endpoint{}
	for name, way := range map[string]struct {
		config *rest.Config
		group  string
	}{
		"aggregator": {p.Config(), "midonet.org"},
		"direct":     {p.DirectConfig(0), "midonet.org"},
		"definition": {p.Config(), likeTranslations},
	} {
		client, err := rest.HTTPClientFor(way.config)
		if err != nil {
			t.Fatal(err)
		}
		ways[name] = endpoint{client, way.config.Host, way.group}
	}
	for _, e := range exchanges() {
		aggregated, direct := ways["aggregator"].send(t, "aggregator", e), ways["direct"].send(t, "direct", e)
		defined := ways["definition"].send(t, "definition", e)
		what := fmt.Sprintf("%s %s (%s, %s) %.60s", e.method, e.path, e.accept, e.content, e.body)
		if diff := cmp.Diff(direct, aggregated); diff != "" {
			t.Errorf("%s: direct -, aggregator +\n%s", what, diff)
		}
		if diff := cmp.Diff(defined, direct); (diff != "") != (e.differs != "") {
			t.Errorf("%s: definition -, direct +\n%s, want a difference: %q", what, diff, e.differs)
		}
	}
}

// exchanges returns the requests in order: objects are created, read in every way, changed and deleted. NAME is another one for each way.
func exchanges() []exchange {
	const collection, object = "/namespaces/default/translations", "/namespaces/default/translations/NAME"
	const full = `{"apiVersion":"GROUP/v1","kind":"Translation","metadata":{"name":"NAME"},"resources":[]}`
	const asJSON, group = "application/json", ";v=v1;g=meta.k8s.io"
	const table, partial = asJSON + ";as=Table" + group, asJSON + ";as=PartialObjectMetadata" + group
	partialList := strings.Replace(partial, "Metadata", "MetadataList", 1)
	var all []exchange
	add := func(method, path, accept, content, body string) {
		all = append(all, exchange{method, path, accept, content, body, ""})
	}
	differs := func(why, method, path, content, body string) {
		all = append(all, exchange{method, path, asJSON, content, body, why})
	}
	add("GET", object, asJSON, "", "")
	for _, query := range []string{"?dryRun=All", "?dryRun=Some", "?fieldValidation=Strict", "?fieldManager=x", ""} {
		add("POST", collection+query, asJSON, asJSON, full)
	}
	for _, body := range []string{
		"", "{", "[]", `{"kind":"Other"}`, strings.Replace(full, "GROUP", "apps", 1), strings.Replace(full, "NAME", "Not_A_Name", 1),
		strings.Replace(full, `"name"`, `"namespace":"other","name"`, 1),
	} {
		add("POST", collection, asJSON, asJSON, body)
	}
	add("POST", collection, asJSON, "text/plain", full)
	add("POST", "/namespaces/missing/translations", asJSON, asJSON, full)
	for _, accept := range []string{asJSON, table, partial, "application/yaml", "text/html", "*/*", "application/vnd.example"} {
		add("GET", object, accept, "", "")
	}
	for _, accept := range []string{asJSON, table, partialList, "application/yaml", "text/html"} {
		for _, query := range []string{
			"", "?limit=1", "?limit=x", "?limit=-1", "?continue=x", "?resourceVersion=0", "?resourceVersion=x", "?resourceVersionMatch=Exact",
			"?resourceVersion=1&resourceVersionMatch=Exact", "?labelSelector=a%3Db", "?labelSelector=%21%21",
			"?fieldSelector=metadata.name%3DNAME", "?fieldSelector=spec.other%3Dx", "?watch=1&timeoutSeconds=1&resourceVersion=x",
			"?timeoutSeconds=x",
		} {
			add("GET", collection+query, accept, "", "")
		}
	}
	add("GET", collection+"?resourceVersion=9999999999", asJSON, "", "")
	for _, content := range []string{
		"application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml", "application/patch", asJSON,
	} {
		for _, body := range []string{
			`{"metadata":{"labels":{"a":"b"}}}`, `[{"op":"add","path":"/metadata/labels","value":{"a":"c"}}]`, full, "{", "[]",
		} {
			add("PATCH", object, asJSON, content, body)
			add("PATCH", object+"?fieldManager=y", asJSON, content, body)
			add("PATCH", object+"?fieldManager=y&force=true", asJSON, content, body)
			add("PATCH", object+"?fieldManager=y&dryRun=All", asJSON, content, body)
		}
	}
	differs("a definition requires the resourceVersion", "PUT", object, asJSON, full)
	for _, body := range []string{
		"", strings.Replace(full, "NAME", "other", 1), strings.Replace(full, `"name"`, `"resourceVersion":"1","name"`, 1),
		strings.Replace(full, `"name"`, `"uid":"8a4ad1f0-0000-0000-0000-000000000000","name"`, 1),
	} {
		add("PUT", object, asJSON, asJSON, body)
	}
	for _, path := range []string{object + "/status", object + "/scale", object + "/other", "", "/translations", collection + "/"} {
		add("GET", path, asJSON, "", "")
	}
	differs("the body of a definition's is text", "GET", "/others", "", "")
	for _, method := range []string{"OPTIONS", "TRACE"} {
		add(method, object, asJSON, "", "")
	}
	differs("a definition reads the object", "HEAD", object, "", "")
	differs("a definition looks for the name first", "POST", object, asJSON, full)
	differs("a definition looks for the name first", "PUT", collection, asJSON, full)
	for _, body := range []string{`{"preconditions":{"uid":"other"}}`, `{"propagationPolicy":"Sometimes"}`, "{"} {
		add("DELETE", object, asJSON, asJSON, body)
	}
	add("DELETE", collection+"?labelSelector=none%3Dx", asJSON, "", "")
	const held = "the API server adds a finalizer, which holds the object, and returns it"
	differs(held, "DELETE", object, asJSON, `{"dryRun":["All"]}`)
	differs(held, "DELETE", object, "", "")
	differs(held, "DELETE", object, "", "")
	return all
}

// answer is what a response tells a client.
type answer struct {
	Code    int    `json:"-"`
	Content string `json:"-"`
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
}

func (e endpoint) send(t *testing.T, way string, x exchange) answer {
	t.Helper()
	replace := strings.NewReplacer("NAME", "of-"+way, "GROUP", e.group)
	request, err := http.NewRequestWithContext(t.Context(), x.method, fmt.Sprintf("%s/apis/%s/v1%s", e.host, e.group, replace.Replace(x.path)),
		strings.NewReader(replace.Replace(x.body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", x.accept)
	if x.content != "" {
		request.Header.Set("Content-Type", x.content)
	}
	response, err := e.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", x.method, request.URL, err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatalf("%s %s: %v", x.method, request.URL, err)
	}
	result := answer{Code: response.StatusCode, Content: response.Header.Get("Content-Type")}
	// An object that is no text, or a stream of them, has none of both.
	_ = yaml.Unmarshal(body, &result)
	return result
}

// define creates the CustomResourceDefinition, and waits until it is served.
func define(t *testing.T, p *plane.Plane) {
	t.Helper()
	schema := map[string]any{"type": "object", "properties": map[string]any{
		"resources": map[string]any{"type": "array", "items": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		"status":    map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
	c := clientOf(t, p.Config())
	if err := c.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "translations." + likeTranslations},
		"spec": map[string]any{
			"group": likeTranslations, "scope": "Namespaced",
			"names": map[string]any{"plural": "translations", "singular": "translation", "kind": "Translation", "listKind": "TranslationList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}}, "schema": map[string]any{"openAPIV3Schema": schema}}},
		},
	}}); err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": likeTranslations + "/v1", "kind": "TranslationList"}}
	eventually(t, func(ctx context.Context) error { return clientOf(t, p.Config()).List(ctx, list) })
}
