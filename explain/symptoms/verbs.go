package symptoms

func verbsSymptoms() []Symptom {
	return nil
}
