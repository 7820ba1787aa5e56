// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package remote connects to other clusters, whose kubeconfigs are in Secrets, and caches their objects.
package remote

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
)

// Options are what a kubeconfig does not say about a connection.
type Options struct {
	// QPS and Burst limit the requests. 0 means no client-side limit.
	QPS   float32
	Burst int
	// Timeout ends a request that takes longer. 0 means none, which watches need.
	Timeout time.Duration
	// UserAgent names the client.
	UserAgent string
	// AllowProxy accepts a proxy in the kubeconfig.
	AllowProxy bool
	// Wrap sees every request. It may be nil.
	Wrap transport.WrapperFunc
}

// Config returns how to connect, by the text of a kubeconfig. It rejects one that would make this process run a command or read a
// file. No error has anything of the text in it.
func Config(text []byte, options Options) (*rest.Config, error) {
	if err := kubeconfig.Check(text, options.AllowProxy); err != nil {
		return nil, err
	}
	config, err := kubeconfig.Load(text)
	if err != nil {
		return nil, err
	}
	return Limited(config, options), nil
}

// Protobuf returns a copy of a config that uses protobuf if the server supports it, for typed clients: their default is JSON.
func Protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// Limited returns a copy of a config with the options, which uses protobuf if the server supports it.
func Limited(config *rest.Config, options Options) *rest.Config {
	limited := Protobuf(config)
	limited.QPS, limited.Burst, limited.Timeout, limited.UserAgent = options.QPS, options.Burst, options.Timeout, options.UserAgent
	if options.QPS == 0 {
		limited.QPS = -1
	}
	if options.Wrap != nil {
		limited.Wrap(options.Wrap)
	}
	return limited
}
