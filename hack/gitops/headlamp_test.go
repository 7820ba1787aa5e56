// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"slices"
	"testing"

	"github.com/dop251/goja"
)

// host is what the plugin uses of Headlamp: it records what is registered.
const host = `
var routes = [], entries = [];
var pluginLib = {
  React: {createElement: function (component, props) { return {component: component, props: props}; }},
  CommonComponents: {ResourceListView: "ResourceListView"},
  Crd: {makeCustomResourceClass: function (a) { return a; }},
  registerRoute: function (r) { routes.push(r); },
  registerSidebarEntry: function (e) { entries.push(e); },
};
// cells returns the cells of an object in the list of its kind, by column.
function cells(object) {
  var found = {};
  routes.forEach(function (r) {
    var list = r.component().props;
    if (list.resourceClass.kind !== object.kind) { return; }
    found.group = list.resourceClass.apiInfo[0].group + "/" + list.resourceClass.apiInfo[0].version;
    found.namespaced = list.resourceClass.isNamespaced;
    list.columns.forEach(function (c) {
      if (typeof c !== "string") { found[c.label] = c.getValue({jsonData: object}); }
    });
  });
  return found;
}
`

// The list of a kind shows the state of each object as its summary has it.
func TestHeadlampLists(t *testing.T) {
	plugin, err := os.ReadFile(artifacts + "/headlamp/main.js")
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	for _, source := range []string{host, string(plugin)} {
		if _, err := vm.RunString(source); err != nil {
			t.Fatal(err)
		}
	}
	if n := vm.Get("entries").ToObject(vm).Get("length").ToInteger(); n != 5 {
		t.Errorf("the sidebar has %d entries, want one and one per kind", n)
	}
	cells, ok := goja.AssertFunction(vm.Get("cells"))
	if !ok {
		t.Fatal("cells is no function")
	}
	want := map[string][]string{"Current": {"Ready"}, "InProgress": {"Reconciling"}, "Failed": {"Stalled"}}
	for _, s := range states(t) {
		t.Run(s.name, func(t *testing.T) {
			value, err := cells(goja.Undefined(), vm.ToValue(s.object))
			if err != nil {
				t.Fatal(err)
			}
			row := value.ToObject(vm)
			if got := row.Get("State").String(); !slices.Contains(want[s.status], got) {
				t.Errorf("state = %q, want %v", got, want[s.status])
			}
			if row.Get("Reason").String() == "" || s.status != "Current" && row.Get("Message").String() == "" {
				t.Errorf("reason %q and message %q, want both", row.Get("Reason"), row.Get("Message"))
			}
			if row.Get("group").String() != s.object["apiVersion"] || row.Get("namespaced").ToBoolean() == (s.kind == "Project") {
				t.Errorf("the list is of %s, namespaced %s, want %s", row.Get("group"), row.Get("namespaced"), s.object["apiVersion"])
			}
		})
	}
}
