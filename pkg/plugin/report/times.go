// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ago returns a time relative to now.
func Ago(t *metav1.Time, now time.Time) string {
	if d := now.Sub(t.Time).Round(time.Second); d < 0 {
		return "in " + short(-d)
	}
	return Lasts(t, now) + " ago"
}

// Lasts is how long something has lasted that began at a time.
func Lasts(t *metav1.Time, now time.Time) string {
	return short(max(0, now.Sub(t.Time).Round(time.Second)))
}

func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	}
}
