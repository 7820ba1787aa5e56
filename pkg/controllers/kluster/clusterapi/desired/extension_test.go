// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestExtensionOf(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"discovered":     {"{status: {handlers: [{name: deorbit.groundskeeper, requestHook: {apiVersion: h/v1alpha1, hook: BeforeClusterDelete}}]}}", true},
		"among others":   {"{status: {handlers: [{name: a.b, requestHook: {hook: AfterClusterUpgrade}}, {name: deorbit.x, requestHook: {hook: BeforeClusterDelete}}]}}", true},
		"of another":     {"{status: {handlers: [{name: backup.velero, requestHook: {hook: BeforeClusterDelete}}]}}", false},
		"another hook":   {"{status: {handlers: [{name: deorbit.groundskeeper, requestHook: {hook: BeforeClusterCreate}}]}}", false},
		"not discovered": {"{spec: {clientConfig: {}}}", false},
		"unreadable":     {"{status: {handlers: text}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			content := map[string]any{}
			if err := yaml.Unmarshal([]byte(c.text), &content); err != nil {
				t.Fatal(err)
			}
			if got := ExtensionOf(content).Registers; got != c.want {
				t.Errorf("registers = %t, want %t", got, c.want)
			}
		})
	}
}
