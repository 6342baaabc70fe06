package v1

// Defaulted returns the spec with the defaults that the API server sets.
func (s MysqlSpec) Defaulted() MysqlSpec {
	for _, field := range []struct {
		value    *string
		fallback string
	}{
		{&s.CPU, "500m"}, {&s.Memory, "512Mi"}, {&s.Storage, "1Gi"}, {&s.Version, "8.4"}, {&s.Database, "app"},
	} {
		if *field.value == "" {
			*field.value = field.fallback
		}
	}
	if s.DeletionPolicy == "" {
		s.DeletionPolicy = DeletionKeep
	}
	return s
}
