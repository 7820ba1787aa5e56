// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"slices"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/docs/blocks"
)

// TestParts checks which controllers run with the configurations by which docs install a part of Groundskeeper alone.
func TestParts(t *testing.T) {
	for page, want := range map[string]string{
		"deorbit":             "kluster kluster-deorbit kluster-routegc kluster-workload kluster-discovery webhooks",
		"backend-maintenance": "discovery-operator discovery-maintenance webhooks",
		"projects":            "project project-stale project-activity webhooks",
		"ovn":                 "translation-convert translation-annotate translation-push webhooks",
	} {
		t.Run(page, func(t *testing.T) {
			all, err := blocks.Read("../../docs/" + page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			var files []blocks.File
			for _, b := range all {
				files = append(files, b.Files...)
			}
			at := slices.IndexFunc(files, func(f blocks.File) bool { return f.Name == "groundskeeper/config.yaml" })
			if at < 0 {
				t.Fatal("the page has no groundskeeper/config.yaml")
			}
			o := NewOptions()
			o.ConfigFile = write(t, files[at].Text)
			if err := o.Complete(); err != nil {
				t.Fatal(err)
			}
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			var run []string
			for _, c := range selectEnabled(controllers(nil), o.config.Controllers.Enabled) {
				if (c.off == nil || c.off(&o.config.Controllers) == "") && (c.waits == nil || !c.waits(&o.config.Controllers)) {
					run = append(run, c.name)
				}
			}
			if got := strings.Join(run, " "); got != want {
				t.Errorf("controllers = %s, want %s", got, want)
			}
		})
	}
}
