// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/logging"
)

// TestWatchFailed checks that a server that is away, as at its rollout, is no error in the log.
func TestWatchFailed(t *testing.T) {
	reflector := toolscache.NewReflector(&toolscache.ListWatch{}, &corev1.Pod{}, toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), 0)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"no endpoint": {fmt.Errorf("failed to list: %w", apierrors.NewServiceUnavailable("no endpoints")), "INFO"},
		"refused":     {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), "INFO"},
		"reset":       {syscall.ECONNRESET, "INFO"},
		"no JSON":     {errors.New("cannot decode"), "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			ctx := klog.NewContext(t.Context(), logging.New(&out, logging.JSON, slog.LevelInfo))
			watchFailed(ctx, reflector, tc.err)
			if line := out.String(); !strings.Contains(line, `"level":"`+tc.want+`"`) {
				t.Errorf("line = %q, want level %s", line, tc.want)
			}
		})
	}
}
