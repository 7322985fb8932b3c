# The platform's own signing key: page cursors, and tokens for people that are signed by hand. It makes nobody a service:
# Google signs for those, unless service_tokens says otherwise. It is made during the apply and goes straight to Secret
# Manager: neither the plan nor the state ever holds it.

ephemeral "tls_private_key" "signing" {
  algorithm = "ED25519"
}

resource "google_secret_manager_secret" "signing_key" {
  secret_id = "${var.name}-signing-key"

  replication {
    auto {}
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret_version" "signing_key" {
  secret                 = google_secret_manager_secret.signing_key.id
  secret_data_wo         = ephemeral.tls_private_key.signing.private_key_pem
  secret_data_wo_version = var.signing_key_version

  # An older one stays readable for the revisions that were made with it: a way back. Disable it by hand.
  deletion_policy = "ABANDON"
}

resource "google_secret_manager_secret_iam_member" "signing_key" {
  for_each = toset(local.services)

  secret_id = google_secret_manager_secret.signing_key.id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.service[each.value].member
}

resource "google_secret_manager_secret_iam_member" "review_api_key" {
  count = var.review_api_key == null ? 0 : 1

  project   = var.project_id
  secret_id = var.review_api_key.secret
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.service["verification"].member
}
