// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// settings returns the keys that the kustomization adds to the ConfigMap of Argo CD.
func settings(t *testing.T) map[string]string {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), artifacts+"/argocd")
	if err != nil {
		t.Fatal(err)
	}
	if rendered.Size() != 1 {
		t.Fatalf("the kustomization has %d objects, want one", rendered.Size())
	}
	config := rendered.Resources()[0]
	if config.GetKind() != "ConfigMap" || config.GetNamespace() != "argocd" || config.GetName() != "argocd-cm" {
		t.Errorf("the object is %s, want the ConfigMap argocd/argocd-cm", config.CurId())
	}
	return config.GetDataMap()
}

// TestArgoCDHealth checks that Argo CD shows each kind in each state with the health of its summary.
func TestArgoCDHealth(t *testing.T) {
	data := settings(t)
	for _, s := range states(t) {
		t.Run(s.name, func(t *testing.T) {
			version, _ := s.object["apiVersion"].(string)
			group, _, _ := strings.Cut(version, "/")
			script, ok := data["resource.customizations.health."+group+"_"+s.kind]
			if !ok {
				t.Fatalf("no health check of %s", s.kind)
			}
			health, message := runLua(t, script, s.object)
			if health != s.health || !strings.Contains(message, s.message) || message == "" {
				t.Errorf("health = %q with the message %q, want %q with %q", health, message, s.health, s.message)
			}
		})
	}
}

// TestArgoCDHealthOfManifests checks that an object without a status, as in a manifest or from a server without summaries, is not
// healthy.
func TestArgoCDHealthOfManifests(t *testing.T) {
	data := settings(t)
	for _, object := range examples(t) {
		version, _ := object["apiVersion"].(string)
		group, _, _ := strings.Cut(version, "/")
		kind, _ := object["kind"].(string)
		if health, _ := runLua(t, data["resource.customizations.health."+group+"_"+kind], object); health != "Progressing" {
			t.Errorf("%s without a status: health = %q, want Progressing", kind, health)
		}
	}
}

// The ignored differences have the form that Argo CD reads.
func TestArgoCDIgnoredDifferences(t *testing.T) {
	found := 0
	for key, text := range settings(t) {
		if !strings.HasPrefix(key, "resource.customizations.ignoreDifferences.") {
			continue
		}
		found++
		var ignored struct {
			JSONPointers          []string `json:"jsonPointers,omitempty"`
			JQPathExpressions     []string `json:"jqPathExpressions,omitempty"`
			ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
		}
		if err := yaml.UnmarshalStrict([]byte(text), &ignored); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if slices.ContainsFunc(ignored.JSONPointers, func(p string) bool { return !strings.HasPrefix(p, "/") }) {
			t.Errorf("%s: %v are no JSON pointers", key, ignored.JSONPointers)
		}
	}
	if found == 0 {
		t.Error("no differences are ignored")
	}
}

// runLua runs a health check as Argo CD does: obj is the object, the result a table with status and message.
func runLua(t *testing.T, script string, object map[string]any) (health, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	l.SetGlobal("obj", toLua(l, object))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the health check returned %s, want a table", l.Get(-1).Type())
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
}

// toLua converts a value of JSON.
func toLua(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, element := range v {
			table.RawSetString(key, toLua(l, element))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, element := range v {
			table.Append(toLua(l, element))
		}
		return table
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}
