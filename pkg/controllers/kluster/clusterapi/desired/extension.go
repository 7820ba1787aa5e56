// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import "strings"

// RuntimeGroup is the group of ExtensionConfigs.
const RuntimeGroup = "runtime.cluster.x-k8s.io"

// HookHandler is the handler of the Runtime Extension that delays the deletion of Clusters.
const HookHandler = "deorbit"

// Extension is an ExtensionConfig.
type Extension struct {
	// Registers reports whether Cluster API has discovered in it the handler that delays the deletion of Clusters.
	Registers bool
}

// extensionObject has the fields that all versions of an ExtensionConfig have in common.
type extensionObject struct {
	Status struct {
		Handlers []struct {
			Name        string `json:"name"`
			RequestHook struct {
				Hook string `json:"hook"`
			} `json:"requestHook"`
		} `json:"handlers"`
	} `json:"status"`
}

// ExtensionOf returns what is kept of an ExtensionConfig. One that cannot be read registers nothing.
func ExtensionOf(content map[string]any) *Extension {
	o, e := &extensionObject{}, &Extension{}
	if err := decode(content, o); err != nil {
		return e
	}
	for _, h := range o.Status.Handlers {
		// Cluster API appends the name of the ExtensionConfig to that of the handler.
		e.Registers = e.Registers || strings.HasPrefix(h.Name, HookHandler+".") && h.RequestHook.Hook == "BeforeClusterDelete"
	}
	return e
}
