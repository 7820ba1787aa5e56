// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestClassSettings checks what annotations of a StorageClass specify, and that a value that is not known retains everything.
func TestClassSettings(t *testing.T) {
	for name, test := range map[string]struct {
		cleanup, delay string // "-": not set
		optedIn        bool
		want           time.Duration // negative: none
		kept           string
	}{
		"nothing":             {"-", "-", false, -1, ""},
		"enabled":             {"enabled", "-", true, -1, ""},
		"disabled":            {"disabled", "-", false, -1, `cleanup of its storage class is "disabled"`},
		"misspelled":          {"Enabled", "-", false, -1, `is "Enabled", which is neither`},
		"delay":               {"enabled", "10m", true, 10 * time.Minute, ""},
		"no delay":            {"-", "0s", false, 0, ""},
		"a number":            {"enabled", "600", true, -1, `deletion-delay of its storage class is "600", which is no duration`},
		"a negative delay":    {"enabled", "-1m", true, -1, `is "-1m", which is no duration`},
		"a blank":             {"-", "", false, -1, `is "", which is no duration`},
		"disabled with delay": {"disabled", "10m", false, 10 * time.Minute, `is "disabled"`},
	} {
		t.Run(name, func(t *testing.T) {
			class := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: map[string]string{}}}
			for key, value := range map[string]string{OptOutAnnotation: test.cleanup, DelayAnnotation: test.delay} {
				if value != "-" {
					class.Annotations[key] = value
				}
			}
			got := classSettingsOf(class)
			if got.optedIn != test.optedIn || !strings.Contains(got.kept, test.kept) || (got.kept == "") != (test.kept == "") {
				t.Errorf("the settings are %+v, want opted in %t and retained because %q", got, test.optedIn, test.kept)
			}
			if (got.delay == nil) != (test.want < 0) || got.delay != nil && *got.delay != test.want {
				t.Errorf("the delay is %v, want %s", got.delay, test.want)
			}
		})
	}
}
