// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/requests"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// NewClient makes the client that the configuration describes. The fence is checked before each write, and its error ends the
// write; nil lets all through. Requests are counted in the registry. It does not connect, and reads the password when it logs in.
// An error names the setting that cannot be used.
func NewClient(config configv1alpha1.MidoNetConfiguration, fence func() error, registry prometheus.Registerer) (*midonet.Client, error) {
	observe, err := requests.Register(registry)
	if err != nil {
		return nil, err
	}
	options := midonet.Options{
		URL:         config.URL,
		Credentials: midonet.Credentials{Username: config.Username, Project: config.Project},
		BeforeWrite: fence,
		Observe: func(kind, method string, code int, took time.Duration) {
			label := "none"
			if code != 0 {
				label = strconv.Itoa(code)
			}
			observe(kind, method, label, took)
		},
	}
	if config.PasswordFile != "" {
		options.Password = midonet.PasswordFile(config.PasswordFile)
	}
	if config.Timeout != nil {
		options.Timeout = config.Timeout.Duration
	}
	return midonet.New(options)
}
