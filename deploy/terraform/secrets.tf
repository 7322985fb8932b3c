# The platform's signing key, for page cursors and for tokens that are signed by hand. With service_tokens = "google" it
# signs no service tokens. It is made during the apply and written to Secret Manager: neither plan nor state holds it.

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

  # Older versions stay readable for older revisions, for a rollback. Disable them by hand.
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
