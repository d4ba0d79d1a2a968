"""The worker: claims steps over one stream and runs their activities. What is public is re-exported by `perdure`."""
